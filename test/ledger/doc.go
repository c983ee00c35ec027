// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger holds no code: its tests compare what a bot's metrics say was used with what the model's server billed.
package ledger

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget holds no code: its tests run a whole bot whose model never comes to an end, and compare what the bot let
// itself spend with what the model's server billed.
package budget

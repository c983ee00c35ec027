// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bot finds out how to reach a bot: which pod, which port, and with whose token. The commands of kubectl
// aalis call it with the caller's own rights; it never writes.
package bot

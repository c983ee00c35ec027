// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority holds no code: its tests ask one table of questions about who may do what in three ways, of the rules, of
// a running bot and of kubectl aalis authority can-i, and want one answer.
package authority

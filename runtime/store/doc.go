// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store holds what the memory backends have in common: the checks of what they are given, the filters of their
// queries, deep copies of messages, and the identity that keeps bots apart that share a server. The memory plugins call
// it. It keeps nothing itself and speaks to no disk or network.
package store

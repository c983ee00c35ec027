// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads, with the caller's own rights, what the commands of kubectl aalis need of a cluster: the declared
// objects of a namespace, and a bot with its pods, kernel reports and events. It never reads a Secret, and it writes
// nothing itself: the client that it makes is handed to the commands that do.
package cluster

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv runs the operator's tests against a real API server: etcd and kube-apiserver once for a test package,
// a namespace for each test, the manager under the very role that is shipped, a fake of what the cluster would do with
// the pods, and counts of every request that writes.
//
// It is imported by tests only.
package testenv

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade tests what happens to running bots when the chart is upgraded from an earlier release and when it is
// uninstalled: the real Helm against a real kube-apiserver, with the real operator. It has only tests; make test-envtest
// runs it.
package upgrade

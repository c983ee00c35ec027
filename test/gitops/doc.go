// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what tools of GitOps see of bots, against a real kube-apiserver with the real operator: kstatus by
// its own library, Argo CD's health by running the shipped script, and Flux by running its kustomize-controller. It has
// only tests; make test-envtest runs it.
package gitops

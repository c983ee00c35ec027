// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers sets up the operator's manager: the cache that holds no more than what is read, the client, the
// reconcilers of all kinds and the endpoint of the metrics.
//
// It is called by cmd/aalis-operator and by the tests. It parses no flags and reads no environment.
package controllers

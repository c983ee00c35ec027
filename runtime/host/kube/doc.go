// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is a kernel's access to the Kubernetes API: it follows the one ConfigMap that carries the bot's config,
// and writes the kernel's acknowledgement to its AgentReplica. Package host uses it when a bot runs in a cluster.
//
// It speaks HTTP by itself instead of using a client library, because a bot's pod should stay small: measured with the
// same request, a REST client of client-go adds 0.7 MiB and a flag-setting logger to what the API types cost anyway, a
// full clientset with its scheme several times that.
//
// It never reads a Secret, never lists anything but that one ConfigMap, and never gives up: while the API is away it
// tries on with growing pauses and the bot goes on with what it has.
package kube

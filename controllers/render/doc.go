// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render turns a kernel config into the objects that run it: ServiceAccount, Role, RoleBinding, ConfigMap,
// NetworkPolicy, AgentReplica, Service and StatefulSet.
//
// It is called by the AgentInstance reconciler and by the command-line tools. It is pure: the same input gives the
// same objects. It never talks to a cluster, never sees a Secret's value (pods mount Secrets by name) and never sets a
// field that reaches into the host.
package render

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs a kernel: it is everything of the runtime that touches the outside. It holds the list of shipped
// modules, gets configs from the Kubernetes API ([RunCluster]) or from files ([RunLocal]), fills in the values of Secrets,
// applies what is new in place and keeps what runs when that is refused ([Runner]), reports what the kernel does, serves
// probes and metrics, and drains at the end.
//
// cmd/aalis calls it. The host composes nothing and judges no declaration: it is given kernel configs. It writes nothing
// to the cluster but the status of its own AgentReplica, never writes a config back, and never logs the value of a Secret.
//
// How a Secret's key reaches a plugin: the plugin requires the service secret:NAME/KEY, and the host provides that service
// once the file is there and the value fits, after it has put the value into the plugin's config. A key that goes retires
// the plugin before its field is emptied. A key that changes is an ordinary change of that plugin's config.
package host

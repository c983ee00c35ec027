// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netx is how plugins reach endpoints that a config declares, such as the base URL of a model provider.
//
// A declared endpoint is chosen by whoever writes the config, not by a model or a chat user. In-cluster names and private
// addresses are therefore fine. Link-local and metadata addresses never are, and loopback only where the host says so: they
// would reach what belongs to the node or to the pod itself. The rule is checked twice, on the URL when the config is read
// and on the resolved address when a connection is made, so that a name that resolves to a forbidden address is no way
// around it.
//
// Plugins call it when they are applied. It holds no state, reads no environment (so no proxy either) and opens no
// connection by itself. It is not meant for URLs that a model or a user chose.
package netx

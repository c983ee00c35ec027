// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema is the vocabulary in which a plugin describes its config: fields with types, defaults and bounds, derived
// from a Go struct by [Of], with strict validation whose messages name the path, what is wrong and what is allowed.
//
// The kernel validates every plugin's config with it before a plugin starts; the operator and the command-line tools
// validate the same config with the same schema, taken from the catalog, before anything reaches a pod; the web page
// builds its forms from it. A schema has a stable JSON form and can be turned into JSON Schema.
//
// The package never does I/O, keeps no state and never modifies the config it is given.
package schema

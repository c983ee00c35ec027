// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

// Config of the plugin: there is nothing to set.
type Config struct{}

// Default is the only Config.
func Default() Config { return Config{} }

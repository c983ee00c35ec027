// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

// Config of the plugin: there is nothing to set. What holds comes from the AuthorityPolicies of the bot.
type Config struct{}

// Default is the only Config.
func Default() Config { return Config{} }

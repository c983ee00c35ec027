// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

// Config of the plugin: there is nothing to set. The budgets are those of the bot's declaration.
type Config struct{}

// Default is the only Config.
func Default() Config { return Config{} }

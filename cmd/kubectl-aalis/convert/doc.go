// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert turns an aalis.config.yaml, the config file of a bot that runs without Kubernetes, and its persona cards
// into the objects that declare the same bot.
//
// It is pure. Nothing is lost without a word: each thing that has no place in the objects, or gets another form, has a
// note that names it. Values that the catalog marks as secret leave the config, and only the skeleton of a Secret takes
// their place; no note ever shows a value.
package convert

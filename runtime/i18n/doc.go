// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package i18n holds the texts that the bot itself writes to people, in every language that it speaks, and the two
// helpers that keep such texts short. Plugins call it when they must tell a person something; what a model says, what
// models are told, and what goes to the log never comes from here.
package i18n

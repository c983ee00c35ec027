// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmhttp is what the plugins that offer chat models over HTTP have in common: the models that come and go with the
// server's list, calls that are tried again where that helps, errors that a chat user may read, and readers of streams.
//
// A plugin gives a Backend, which knows the vendor's protocol and makes one attempt at a call, and says how its config
// names the Server and the Settings; Run does everything else. Models that the config lists are there at once. Those
// that the server lists are looked for in the background, again and again until it answers and every quarter of an hour
// from then on. A server that is down when the bot starts therefore costs nothing but its own models until it is up,
// and the plugin is never in error for it. For the same reason such a module declares no provided service: what a
// module declares must be there once it is applied.
//
// A call is tried at most three times, within twenty seconds of waiting, when the server is busy, fails or cannot be
// reached, as long as nothing of the reply has been handed on. What went wrong in detail is in the log; the caller gets an
// llm.Error with a short text fit for a chat. The key is in neither.
//
// The package holds no state of its own, reads no environment, and never keeps or logs what is said.
package llmhttp

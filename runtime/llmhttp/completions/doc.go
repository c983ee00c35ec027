// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package completions speaks the chat completions protocol of OpenAI, which many servers speak, for the plugins of model
// providers: it makes the messages and tools of a request, reads a whole reply, and reads a streamed one chunk by chunk.
//
// Plugins call it from their llmhttp.Backend. It makes one attempt at a call and holds no state; what differs between
// vendors stays with the plugins.
package completions

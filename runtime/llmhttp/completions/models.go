// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"context"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// List asks which models the server offers at a path, and leaves out those that are not for chatting.
func List(ctx context.Context, ep *llmhttp.Endpoint, path string) ([]string, error) {
	all, err := ListAll(ctx, ep, path)
	return slices.DeleteFunc(all, func(id string) bool { return !chats(id) }), err
}

// ListAll asks which models the server offers at a path.
func ListAll(ctx context.Context, ep *llmhttp.Endpoint, path string) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := ep.GetJSON(ctx, path, &list); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, nil
}

// notForChat are parts of the names of models that a server lists and that do not chat.
var notForChat = []string{
	"embedding", "whisper", "tts", "dall-e", "gpt-image", "moderation", "davinci-002", "babbage-002", "sora",
	"-realtime", "-transcribe", "-rerank", "reranker",
}

// chats tells whether a listed model is worth offering. Models that the config names are never asked about.
func chats(id string) bool {
	id = strings.ToLower(id)
	return !slices.ContainsFunc(notForChat, func(part string) bool { return strings.Contains(id, part) })
}

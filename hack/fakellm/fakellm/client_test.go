// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

// client returns a go-openai client of a new server.
func client(t *testing.T, o fakellm.Options, key string) *openai.Client {
	t.Helper()
	server := httptest.NewServer(fakellm.New(o))
	t.Cleanup(server.Close)
	config := openai.DefaultConfig(key)
	config.BaseURL, config.HTTPClient = server.URL+"/v1", server.Client()
	return openai.NewClientWithConfig(config)
}

func request(text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model: "gpt-4o-mini",
		Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: "You are Owl."}, {Role: "user", Content: text},
		},
	}
}

func TestClientStream(t *testing.T) {
	t.Parallel()
	c := client(t, fakellm.Options{APIKeys: []string{"k"}}, "k")
	r := request("hello")
	r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := c.CreateChatCompletionStream(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var text string
	var usage *openai.Usage
	var finish openai.FinishReason
	for {
		part, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range part.Choices {
			text += choice.Delta.Content
			finish += choice.FinishReason
		}
		if part.Usage != nil {
			if usage = part.Usage; len(part.Choices) != 0 {
				t.Error("the usage frame has choices")
			}
		}
	}
	if text != "[You are Owl.] You said: hello" || finish != openai.FinishReasonStop {
		t.Errorf("got %q, %s", text, finish)
	}
	if usage == nil || usage.PromptTokens != 13 || usage.CompletionTokens != 8 || usage.PromptTokensDetails == nil {
		t.Errorf("usage %+v", usage)
	}
}

func TestClientTools(t *testing.T) {
	t.Parallel()
	c := client(t, fakellm.Options{}, "any")
	r := request(`#tool weather {"city":"Oslo"}`)
	r.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "weather"}}}
	first, err := c.CreateChatCompletion(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	m := first.Choices[0].Message
	if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Arguments != `{"city":"Oslo"}` || first.Choices[0].FinishReason != openai.FinishReasonToolCalls {
		t.Fatalf("got %+v", m)
	}
	r.Messages = append(r.Messages, m, openai.ChatCompletionMessage{Role: "tool", ToolCallID: m.ToolCalls[0].ID, Content: "rain"})
	second, err := c.CreateChatCompletion(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Choices[0].Message.Content; got != "[You are Owl.] Tool weather returned: rain" {
		t.Errorf("got %q", got)
	}
	if second.Usage.PromptTokensDetails.CachedTokens < first.Usage.PromptTokens {
		t.Errorf("cached %d, the first prompt has %d", second.Usage.PromptTokensDetails.CachedTokens, first.Usage.PromptTokens)
	}
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	c := client(t, fakellm.Options{APIKeys: []string{"k"}}, "wrong")
	_, err := c.ListModels(t.Context())
	var api *openai.APIError
	if !errors.As(err, &api) || api.HTTPStatusCode != 401 || api.Code != "invalid_api_key" {
		t.Errorf("got %v", err)
	}
	c = client(t, fakellm.Options{}, "")
	_, err = c.CreateChatCompletion(t.Context(), request("#fault content-filter"))
	if !errors.As(err, &api) || api.HTTPStatusCode != 400 || api.Code != "content_filter" {
		t.Errorf("got %v", err)
	}
	r := request("#fault error-frame")
	s, err := c.CreateChatCompletionStream(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for err == nil {
		_, err = s.Recv()
	}
	if !errors.As(err, &api) || api.Type != "server_error" {
		t.Errorf("got %v", err)
	}
}

func TestClientEmbeddings(t *testing.T) {
	t.Parallel()
	c := client(t, fakellm.Options{}, "")
	models, err := c.ListModels(t.Context())
	if err != nil || len(models.Models) != 4 || models.Models[0].ID != "gpt-4o-mini" {
		t.Errorf("got %+v, error %v", models, err)
	}
	want := fakellm.Embed("night owl", 1536)
	for _, format := range []openai.EmbeddingEncodingFormat{openai.EmbeddingEncodingFormatFloat, openai.EmbeddingEncodingFormatBase64} {
		r, err := c.CreateEmbeddings(t.Context(), openai.EmbeddingRequest{
			Model: openai.SmallEmbedding3, Input: "night owl", EncodingFormat: format,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range r.Data[0].Embedding {
			if v != want[i] {
				t.Fatalf("%s: place %d is %f, want %f", format, i, v, want[i])
			}
		}
	}
}

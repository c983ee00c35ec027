// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// TestQuestionKeepsTheRequestOpen: after a question in the middle of a turn the request waits for what comes of it, however
// long that takes; after any other notice it ends when nothing follows.
func TestQuestionKeepsTheRequestOpen(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		answered := make(chan struct{})
		r := start(t, func(_ context.Context, b *bot, m message.Incoming) {
			b.send(m, message.Outgoing{Content: "sure?", Source: message.FromSystem, Interim: true})
			<-answered
			b.say(m, message.FromAgent, "done")
			b.after(m, agent.Replied)
		}, nil)
		r.server.grace = time.Millisecond
		time.AfterFunc(100*time.Millisecond, func() { close(answered) })
		ctx, cancel := context.WithTimeout(t.Context(), kerneltest.Patience)
		defer cancel()
		req := openai.ChatCompletionRequest{Model: "bot", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "x"}}}
		text := ""
		if streamed {
			stream, err := r.client(aliceToken).CreateChatCompletionStream(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for {
				part, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(part.Choices) > 0 {
					text += part.Choices[0].Delta.Content
				}
			}
			_ = stream.Close()
		} else {
			got, err := r.client(aliceToken).CreateChatCompletion(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			text = got.Choices[0].Message.Content
		}
		if text != "sure?\n\ndone" {
			t.Errorf("streamed %t: got %q", streamed, text)
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// BenchmarkFrame is one chunk from the event to the buffer of its frames.
func BenchmarkFrame(b *testing.B) {
	s := newSSE(nil, meta{id: "chatcmpl-1", model: "hello", created: 1}, true)
	ts := newTurns()
	t := ts.open("chatcmpl-1", "s", true)
	defer ts.close(t)
	chunk := message.StreamChunk{TurnID: "chatcmpl-1", ContentDelta: "word "}
	b.ReportAllocs()
	for b.Loop() {
		_ = ts.stream(b.Context(), chunk)
		s.take(<-t.events)
		s.buf = s.buf[:0]
		s.round.Reset()
	}
}

// BenchmarkStreamChunk is one chunk of a long answer, from the event to the client, HTTP over loopback included.
func BenchmarkStreamChunk(b *testing.B) {
	r := start(b, func(_ context.Context, bot *bot, m message.Incoming) {
		chunk := message.StreamChunk{SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, ContentDelta: "word "}
		for range b.N {
			message.Stream.Emit(context.Background(), bot.k, chunk)
		}
		bot.after(m, agent.Replied)
	}, nil)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+r.addr+"/v1/chat/completions", strings.NewReader(ask("x", streamed)))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceToken)
	b.ReportAllocs()
	b.ResetTimer()
	resp, err := r.http().Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
}

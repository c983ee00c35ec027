// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// BenchmarkStreamChunk is one chunk of a long stream, HTTP over loopback included.
func BenchmarkStreamChunk(b *testing.B) {
	frame := []byte(`data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o",` +
		`"system_fingerprint":"fp_x","choices":[{"index":0,"delta":{"content":"word "},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	const blocks = 1000 // of 64 chunks: well under the bound of a reply
	block := bytes.Repeat(frame, 64)
	r := serve(b, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/models") {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for range blocks {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}), map[string]any{"customModels": "m", "timeout": 0})
	m := r.model("m")
	n := 0
	b.ReportAllocs()
	b.ResetTimer()
	for n < b.N {
		if err := m.ChatStream(b.Context(), user("hi"), func(llm.Chunk) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/chunk")
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// puppet is a model server that says whatever a test has it say: a model that obeys what was slipped into its prompt.
type puppet struct {
	*httptest.Server
	mu     sync.Mutex
	script func(openai.ChatCompletionRequest) openai.ChatCompletionMessage
	asked  []openai.ChatCompletionRequest
}

func newPuppet(t *testing.T) *puppet {
	t.Helper()
	p := &puppet{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// says has the model answer by a script.
func (p *puppet) says(script func(openai.ChatCompletionRequest) openai.ChatCompletionMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.asked = script, nil
}

// calls has the model call tools first, and then say something.
func (p *puppet) calls(then string, calls ...openai.ToolCall) {
	p.says(func(req openai.ChatCompletionRequest) openai.ChatCompletionMessage {
		if last := req.Messages[len(req.Messages)-1]; last.Role == "tool" {
			return openai.ChatCompletionMessage{Content: then}
		}
		return openai.ChatCompletionMessage{ToolCalls: calls}
	})
}

func call(name, arguments string) openai.ToolCall {
	return openai.ToolCall{ID: "call-" + name, Type: "function", Function: openai.FunctionCall{Name: name, Arguments: arguments}}
}

// results are the tool results of the turn, as the model was last shown them. A bot may ask a model for other things in
// between, such as a summary; those requests hold none.
func (p *puppet) results() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, req := range slices.Backward(p.asked) {
		var out []string
		for _, m := range req.Messages {
			switch m.Role {
			case "user":
				out = nil
			case "tool":
				out = append(out, m.Content)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func (p *puppet) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var req openai.ChatCompletionRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req)
	script := p.script
	p.mu.Unlock()
	m := script(req)
	delta := openai.ChatCompletionStreamChoiceDelta{Role: "assistant", Content: m.Content, ToolCalls: m.ToolCalls}
	for i := range delta.ToolCalls {
		delta.ToolCalls[i].Index = &i
	}
	finish := openai.FinishReasonStop
	if len(m.ToolCalls) > 0 {
		finish = openai.FinishReasonToolCalls
	}
	if !req.Stream {
		_ = json.NewEncoder(w).Encode(openai.ChatCompletionResponse{Choices: []openai.ChatCompletionChoice{{Message: m, FinishReason: finish}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range []openai.ChatCompletionStreamChoice{{Delta: delta}, {FinishReason: finish}} {
		raw, _ := json.Marshal(openai.ChatCompletionStreamResponse{ID: "x", Choices: []openai.ChatCompletionStreamChoice{c}})
		fmt.Fprintf(w, "data: %s\n\n", raw)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

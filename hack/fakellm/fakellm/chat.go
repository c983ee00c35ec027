// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// chat answers POST /v1/chat/completions.
func (x *exchange) chat() {
	body, ok := x.readBody()
	if !ok {
		return
	}
	req, bad := decodeChat(body)
	if bad != nil {
		x.fail(bad)
		return
	}
	base, inModel, ok := x.accept(req.model, x.s.opts.Models, req.stream)
	if !ok {
		return
	}
	c := readConversation(req.messages)
	d, err := parseDirectives(c.user)
	if err == nil {
		err = checkRepeat(d)
	}
	if err != nil {
		x.fail(badRequest("messages", "bad_directive", "the last user message: %s", err))
		return
	}
	t := target{api: apiChat, model: req.model, base: base, keyHash: x.keyHash, text: c.user}
	if !x.applyFaults(t, inModel, d.faults) {
		return
	}
	x.billPrompt(req, base)
	x.override = d.usage
	a := buildAnswer(req, c, d, x.s.opts.Chunks)
	if x.eff.empty {
		a = answer{finish: finishStop}
	}
	if req.stream {
		x.stream(req, a)
	} else {
		x.whole(req, a)
	}
}

func checkRepeat(d directives) error {
	if d.repeat*max(units(d.say), 1) > maxRepeatUnits {
		return errors.New("directive #repeat: the answer would be longer than 16777216 UTF-16 code units")
	}
	return nil
}

// billPrompt counts the prompt and what of it is cached; faults named in the model id make no other cache.
func (x *exchange) billPrompt(req *chatRequest, base string) {
	elements, tokens := promptTokens(req)
	cached := x.s.prefix.observe(base+"\x00"+x.keyHash, elements)
	for i, n := range tokens {
		x.bill.PromptTokens += n
		if i < cached {
			x.bill.CachedTokens += n
		}
	}
	x.s.ledger.update(x.entry, func(e *Entry) { e.CachedMessages = cached })
}

// usage returns the usage object of what was sent so far, on the wire.
func (x *exchange) usage() []byte {
	u := x.bill
	x.out.apply(&u)
	x.override.apply(&u)
	b := append([]byte(nil), `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.PromptTokens), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(u.CompletionTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.PromptTokens+u.CompletionTokens), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(u.CachedTokens), 10)
	b = append(b, `},"completion_tokens_details":{"reasoning_tokens":`...)
	b = strconv.AppendInt(b, int64(u.ReasoningTokens), 10)
	return append(b, `}}`...)
}

func (x *exchange) responseID() string { return "chatcmpl-" + strconv.FormatUint(x.id, 10) }

// completion is an answer without streaming, on the wire.
type completion struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint"`
	Choices           []choice        `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"`
}

type choice struct {
	Index        int           `json:"index"`
	Message      choiceMessage `json:"message"`
	Logprobs     *struct{}     `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
}

type choiceMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	Refusal          *string    `json:"refusal"`
}

// whole sends an answer as one JSON object.
func (x *exchange) whole(req *chatRequest, a answer) {
	if x.eff.chunkDelay > 0 && x.wait(x.eff.chunkDelay*time.Duration(countChunks(a))) != nil {
		return
	}
	text := strings.Repeat(a.content, max(a.repeat, 1))
	x.out = output{reasoning: units(a.reasoning), content: units(text)}
	for _, c := range a.calls {
		x.out.calls += units(c.Function.Name) + units(c.Function.Arguments)
	}
	m := choiceMessage{Role: "assistant", Content: &text, ReasoningContent: a.reasoning, ToolCalls: a.calls}
	if text == "" && len(a.calls) > 0 {
		m.Content = nil
	}
	out := completion{
		ID: x.responseID(), Object: "chat.completion", Created: x.start.Unix(), Model: req.model,
		SystemFingerprint: fingerprint, Choices: []choice{{Message: m, FinishReason: a.finish}},
	}
	if !x.eff.noUsage {
		out.Usage = x.usage()
	}
	x.deliver(out)
}

// countChunks returns how many chunks a streamed answer has.
func countChunks(a answer) int {
	n := a.repeat
	if n == 0 {
		for range split(a.content, a.chunks) {
			n++
		}
	}
	for range split(a.reasoning, a.chunks) {
		n++
	}
	for _, c := range a.calls {
		n++
		for range argumentPieces(c.Function.Arguments) {
			n++
		}
	}
	return n
}

// deliver sends v as JSON, or what the faults leave of it. It settles the request before the last byte, so that whoever
// has read the answer finds it in the ledger.
func (x *exchange) deliver(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		x.fail(&apiError{status: http.StatusInternalServerError, kind: typeServer, message: err.Error()})
		return
	}
	half := body[:len(body)/2]
	switch x.eff.cut {
	case KindErrorFrame:
		x.fail(x.eff.errorFrame())
		return
	case KindReset, KindStall, KindTruncate:
		x.deliverHalf(half, len(body))
		return
	}
	if x.eff.malformed {
		body = half
	}
	x.settle(OutcomeComplete)
	_ = x.respond(http.StatusOK, body)
}

// deliverHalf sends the first half of a body and then resets, stalls or ends. A reset after no chunk sends nothing.
func (x *exchange) deliverHalf(half []byte, length int) {
	if x.eff.cut == KindReset && x.eff.cutAfter == 0 {
		_ = x.reset()
		return
	}
	x.head(http.StatusOK, "application/json", length)
	if x.write(half) != nil || x.rc.Flush() != nil {
		return
	}
	_ = x.cutNow()
}

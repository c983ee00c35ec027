// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// answer is what the model says to one request.
type answer struct {
	reasoning string
	content   string
	repeat    int // when > 0 the content is sent that many times, one chunk each
	chunks    int // pieces of the text; 0 means words
	calls     []toolCall
	finish    string // stop, length or tool_calls
}

const (
	finishStop   = "stop"
	finishLength = "length"
	finishCalls  = "tool_calls"

	repeatUnit = "ha "
)

// conversation is the part of a prompt that decides the answer.
type conversation struct {
	system string    // first line of the first system message that is not blank, trimmed
	user   string    // text of the last user message
	after  []message // messages behind the last user message
	before []message // all messages, for the names of calls
}

func readConversation(messages []message) conversation {
	c := conversation{before: messages, after: messages}
	for i, m := range slices.Backward(messages) {
		if m.Role == "user" {
			c.user, c.after = m.Content.text, messages[i+1:]
			break
		}
	}
	for _, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			c.system = firstLine(m.Content.text)
			break
		}
	}
	return c
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// buildAnswer computes the answer; it depends on nothing but the request and the configured number of pieces.
func buildAnswer(req *chatRequest, c conversation, d directives, chunks int) answer {
	a := answer{reasoning: d.reasoning, chunks: chunks, finish: finishStop}
	if d.chunks > 0 {
		a.chunks = d.chunks
	}
	a.calls = callsFor(req, c, d)
	results := toolResults(c)
	switch {
	case len(a.calls) > 0:
		a.content, a.finish = d.say, finishCalls
	case len(results) > 0:
		a.content = c.prefixed(strings.Join(results, "\n"))
	case d.repeat > 0:
		a.content, a.repeat = repeatUnit, d.repeat
		if d.say != "" {
			a.content = d.say
		}
	case d.hasSay:
		a.content = d.say
	default:
		a.content = c.prefixed("You said: " + c.user)
	}
	if len(a.calls) == 0 && a.repeat == 0 {
		a.limit(req.maxTokens)
	}
	return a
}

func (c conversation) prefixed(s string) string {
	if c.system == "" {
		return s
	}
	return "[" + c.system + "] " + s
}

// limit cuts the answer to most tokens, reasoning first. Zero means no limit.
func (a *answer) limit(most int) {
	if most == 0 {
		return
	}
	reasoning := cutTokens(a.reasoning, most)
	content := cutTokens(a.content, most-tokensOf(units(reasoning)))
	if len(reasoning) < len(a.reasoning) || len(content) < len(a.content) {
		a.reasoning, a.content, a.finish = reasoning, content, finishLength
	}
}

// cutTokens compares before multiplying, so that a huge limit cannot overflow.
func cutTokens(s string, most int) string {
	if most >= len(s) {
		return s
	}
	return cutUnits(s, most*unitsPerToken)
}

// toolResults quotes the tool messages that follow the last user message, in order.
func toolResults(c conversation) []string {
	names := map[string]string{}
	for _, m := range c.before {
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Function.Name
		}
	}
	var out []string
	for _, m := range c.after {
		if m.Role == "tool" {
			out = append(out, fmt.Sprintf("Tool %s returned: %s", names[m.ToolCallID], m.Content.text))
		}
	}
	return out
}

// callsFor returns the tool calls of this step.
func callsFor(req *chatRequest, c conversation, d directives) []toolCall {
	if len(req.tools) == 0 || req.toolChoice == "none" {
		return nil
	}
	made := 0
	for _, m := range c.after {
		made += len(m.ToolCalls)
	}
	wanted := stepTools(d.tools, made, req.sequential)
	if len(wanted) == 0 {
		switch req.toolChoice {
		case "required":
			wanted = []toolDirective{{name: req.tools[0], arguments: "{}"}}
		case "function":
			wanted = []toolDirective{{name: req.forcedTool, arguments: "{}"}}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	id := callID(req.messages)
	calls := make([]toolCall, len(wanted))
	for i, t := range wanted {
		calls[i] = toolCall{
			ID: id + "_" + strconv.Itoa(i), Type: "function", Function: functionCall{Name: t.name, Arguments: t.arguments},
		}
	}
	return calls
}

// stepTools picks the directives to follow after `made` calls since the last user message: at first all, later only
// those that loop. In sequence it is one a step, and after the last one the first that loops.
func stepTools(all []toolDirective, made int, sequential bool) []toolDirective {
	if made == 0 && !sequential {
		return all
	}
	if sequential && made < len(all) {
		return all[made : made+1]
	}
	var loops []toolDirective
	for _, t := range all {
		if t.loop {
			loops = append(loops, t)
		}
	}
	if sequential && len(loops) > 1 {
		return loops[:1]
	}
	return loops
}

// callID is the same for the same messages and different for longer ones, so ids are unique inside a conversation.
func callID(messages []message) string {
	h := fnv.New64a()
	for i := range messages {
		_, _ = h.Write(messages[i].raw)
	}
	return "call_" + hex.EncodeToString(h.Sum(nil))
}

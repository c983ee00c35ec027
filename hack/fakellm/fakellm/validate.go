// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const maxToolName = 64

// takeTools reads tools, tool_choice and parallel_tool_calls.
func (req *chatRequest) takeTools(w *wireRequest) *apiError {
	req.sequential = w.ParallelToolCalls != nil && !*w.ParallelToolCalls
	if len(w.Tools) > 0 && !bytes.Equal(w.Tools, []byte("null")) {
		var tools []struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if err := json.Unmarshal(w.Tools, &tools); err != nil {
			return decodeError(err, "tools")
		}
		for i, t := range tools {
			if t.Type != "function" {
				return badRequest(fmt.Sprintf("tools[%d].type", i), "invalid_value", "tools[%d].type is %q: only function is allowed", i, t.Type)
			}
			if !validToolName(t.Function.Name) {
				return badRequest(fmt.Sprintf("tools[%d].function.name", i), "invalid_value",
					"tools[%d].function.name %q is not allowed: 1 to %d letters, digits, underscores or hyphens", i, t.Function.Name, maxToolName)
			}
			req.tools = append(req.tools, t.Function.Name)
		}
		req.toolsRaw = w.Tools
	}
	return req.takeToolChoice(w.ToolChoice)
}

func (req *chatRequest) takeToolChoice(raw json.RawMessage) *apiError {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if len(req.tools) == 0 {
		return badRequest("tool_choice", "invalid_value", "tool_choice is only allowed when tools is not empty")
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none", "auto", "required":
			req.toolChoice = word
			return nil
		}
		return badRequest("tool_choice", "invalid_value", "tool_choice %q is not allowed: use none, auto, required or a function", word)
	}
	var choice struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &choice); err != nil {
		return decodeError(err, "tool_choice")
	}
	for _, name := range req.tools {
		if name == choice.Function.Name {
			req.toolChoice, req.forcedTool = "function", name
			return nil
		}
	}
	return badRequest("tool_choice.function.name", "invalid_value",
		"tool_choice.function.name %q is not one of the tools of this request", choice.Function.Name)
}

func validToolName(s string) bool {
	if s == "" || len(s) > maxToolName {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !isWordByte(r) && r != '-' }) < 0
}

func isWordByte(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// takeMessages decodes the messages and checks what a real provider checks: roles, contents, and that tool calls and
// tool results pair up.
func (req *chatRequest) takeMessages(raws []json.RawMessage) *apiError {
	if len(raws) == 0 {
		return badRequest("messages", "missing_required_parameter", "messages is missing or empty: at least one message is needed")
	}
	req.messages = make([]message, len(raws))
	for i, raw := range raws {
		m := &req.messages[i]
		if err := json.Unmarshal(raw, m); err != nil {
			return decodeError(err, fmt.Sprintf("messages[%d]", i))
		}
		m.raw = raw
		if err := checkMessage(i, m); err != nil {
			return err
		}
	}
	return checkPairs(req.messages)
}

func checkMessage(i int, m *message) *apiError {
	switch m.Role {
	case "system", "developer", "user", "tool":
		if !m.Content.present {
			return badRequest(fmt.Sprintf("messages[%d].content", i), "invalid_value",
				"messages[%d].content is missing: a %s message needs one", i, m.Role)
		}
	case "assistant":
		if !m.Content.present && len(m.ToolCalls) == 0 {
			return badRequest(fmt.Sprintf("messages[%d].content", i), "invalid_value",
				"messages[%d].content is missing: an assistant message needs content or tool_calls", i)
		}
	default:
		return badRequest(fmt.Sprintf("messages[%d].role", i), "invalid_value",
			"messages[%d].role %q is not allowed: use system, developer, user, assistant or tool", i, m.Role)
	}
	return nil
}

// checkPairs refuses a tool result that answers no open call, and a call whose result does not follow at once.
func checkPairs(messages []message) *apiError {
	open := map[string]bool{}
	opener := -1
	unanswered := func() *apiError {
		for _, c := range messages[opener].ToolCalls {
			if open[c.ID] {
				return badRequest(fmt.Sprintf("messages[%d].tool_calls", opener), "invalid_value",
					"messages[%d].tool_calls: no tool message follows for tool_call_id %q", opener, c.ID)
			}
		}
		return nil
	}
	for i := range messages {
		m := &messages[i]
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return badRequest(fmt.Sprintf("messages[%d].tool_call_id", i), "invalid_value",
					"messages[%d].tool_call_id %q answers no tool call of the assistant message before it", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return unanswered()
		}
		if m.Role == "assistant" && len(m.ToolCalls) > 0 {
			opener = i
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		}
	}
	if len(open) > 0 {
		return unanswered()
	}
	return nil
}

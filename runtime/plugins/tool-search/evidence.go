// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

import (
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// evidence reads from messages which tools were found by a search or called, the latest last. Only what a tool has
// answered counts: a call without an answer may be one that the model made up and gave up.
func evidence(messages []message.Message) []string {
	called := map[string]string{} // by the id of the call
	var out []string
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case message.RoleAssistant:
			for _, c := range m.ToolCalls {
				called[c.ID] = c.Function.Name
			}
		case message.RoleTool:
			switch name := called[m.ToolCallID]; name {
			case "":
			case toolName:
				out = append(out, namesIn(m.Content)...)
			default:
				out = append(out, name)
			}
		}
	}
	return out
}

// namesIn reads the names out of a search result; one that is no JSON any more, as it was cut short, holds none.
func namesIn(result string) []string {
	var r struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if json.Unmarshal([]byte(result), &r) != nil {
		return nil
	}
	var out []string
	for _, t := range r.Tools {
		if t.Name != "" && t.Name != toolName {
			out = append(out, t.Name)
		}
	}
	return out
}

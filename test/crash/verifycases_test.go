// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"slices"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// TestVerify makes sure that each sort of damage would be found.
func TestVerify(t *testing.T) {
	user := func(text string) message.Message { return message.Message{Role: message.RoleUser, Content: text} }
	says := func(text string) message.Message { return message.Message{Role: message.RoleAssistant, Content: text} }
	result := func(id string) message.Message { return message.Message{Role: message.RoleTool, ToolCallID: id} }
	calls := message.Message{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{{ID: "x"}, {ID: "y"}}}
	results := says(returned + "1\n" + returned + "2")
	whole := []message.Message{user("a"), says("A"), user("b"), calls, result("x"), result("y"), results, user("c")}
	without := func(drop ...int) []message.Message {
		var out []message.Message
		for i, m := range whole {
			if !slices.Contains(drop, i) {
				out = append(out, m)
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		history []message.Message
		want    string
	}{
		"whole":                 {whole, ""},
		"marker":                {append(without(), message.Message{Role: message.RoleSystem, Kind: message.KindEventMarker}), ""},
		"one not acknowledged":  {without(7), ""},
		"lost message":          {without(2, 3, 4, 5, 6), `lost the acknowledged message "b"`},
		"lost answer":           {without(1), `lost the answer to "a"`},
		"lost calls":            {without(3, 4, 5), `without its calls`},
		"lost call message":     {without(3), `orphan tool message "x"`},
		"lost result":           {without(5), `broken group of "b": call "y"`},
		"lost first result":     {without(4), `broken group of "b": call "x"`},
		"calls at the end":      {whole[:4], `broken group of "b": call "x"`},
		"duplicate message":     {append(without(), user("c")), `duplicate message "c"`},
		"duplicate answer":      {append(without(2, 3, 4, 5, 6, 7), says("A")), `duplicate answer to "a"`},
		"duplicate calls":       {append(without(7), calls, result("x"), result("y")), `duplicate calls of "b"`},
		"half an answer":        {[]message.Message{user("a"), says("")}, `answer to "a" is not whole`},
		"out of order":          {append(whole[2:7:7], user("a"), says("A")), `message "a" out of order`},
		"somebody else's":       {append(without(), user("d")), `message that nobody sent: "d"`},
		"an answer to nothing":  {whole[1:], `answer to nothing: "A"`},
		"another sort of thing": {append(without(), message.Message{Role: message.RoleNotice}), `message of the role "notice": ""`},
	} {
		t.Run(name, func(t *testing.T) {
			questions := []*question{
				{text: "a", reply: "A", state: answered}, {text: "b", calls: 2, state: answered}, {text: "c", reply: "C", state: asked},
			}
			got := strings.Join(verify(questions, tc.history), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func TestWholeToolGroups(t *testing.T) {
	// Messages as letters: u user, a assistant, c1,2 a call of tools 1 and 2, r1 the result of 1.
	for _, tc := range []struct {
		in, want string
		dropped  int
	}{
		{"u a u", "u a u", 0},
		{"c1 r1 a", "c1 r1 a", 0},
		{"c1,2 r2 r1", "c1,2 r2 r1", 0},
		{"c1,2 r1 a", "a", 2},
		{"c1,2 r1 r1 r2", "", 4},
		{"c1 r1 r1 a", "c1 r1 a", 1},
		{"c1 r9 a", "a", 2},
		{"c1 u r1", "u", 2},
		{"r1 r2 u", "u", 2},
		{"c1 c2 r2", "c2 r2", 1},
		{"c1", "", 1},
		{"", "", 0},
	} {
		out, dropped := wholeToolGroups(letters(tc.in))
		if got := spell(out); got != tc.want || dropped != tc.dropped {
			t.Errorf("%q: got %q, %d dropped, want %q, %d", tc.in, got, dropped, tc.want, tc.dropped)
		}
	}
}

func letters(s string) (list []message.Message) {
	for f := range strings.FieldsSeq(s) {
		m := message.Message{Role: message.RoleAssistant, Content: f}
		switch f[0] {
		case 'u':
			m.Role = message.RoleUser
		case 'r':
			m.Role, m.ToolCallID = message.RoleTool, f[1:]
		case 'c':
			for id := range strings.SplitSeq(f[1:], ",") {
				m.ToolCalls = append(m.ToolCalls, toolCall(id))
			}
		}
		list = append(list, m)
	}
	return list
}

func spell(list []message.Message) string {
	var out []string
	for _, m := range list {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

func FuzzWholeToolGroups(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		words := [...]string{"u", "a", "c1", "c1,2", "r1", "r2", "r3"}
		var in []string
		for _, b := range data {
			in = append(in, words[int(b)%len(words)])
		}
		list := letters(strings.Join(in, " "))
		out, dropped := wholeToolGroups(list)
		if len(out)+dropped != len(list) {
			t.Fatalf("%v: %d kept, %d dropped", in, len(out), dropped)
		}
		if again, n := wholeToolGroups(out); n != 0 || spell(again) != spell(out) {
			t.Fatalf("%v: the result %q is not whole", in, spell(out))
		}
	})
}

func TestIsSame(t *testing.T) {
	a := message.Message{Role: message.RoleUser, Content: "x", Name: "n", Timestamp: 1}
	for i, change := range []func(*message.Message){
		func(m *message.Message) { m.Content = "y" }, func(m *message.Message) { m.Timestamp = 2 },
		func(m *message.Message) { m.Name = "o" }, func(m *message.Message) { m.Role = message.RoleAssistant },
	} {
		b := a
		change(&b)
		if isSame(a, b) || !isSame(a, a) {
			t.Errorf("change %d", i)
		}
	}
}

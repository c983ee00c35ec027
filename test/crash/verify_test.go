// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// state is how far a question came, as its asker knows.
type state uint8

const (
	asked        state = iota // it was sent
	acknowledged              // the first of the answer came
	answered                  // the whole answer came
)

// toolName is the tool that questions have called.
const toolName = "prompt_budget_info"

// returned begins each result in the fake model's answer to results.
const returned = "Tool " + toolName + " returned: "

// question is one thing that was said to the bot. No two have the same text.
type question struct {
	text  string
	reply string // the whole answer; unknown if there are calls
	calls int    // of the tool, at once
	state state
}

// answeredBy tells whether a text is the whole answer.
func (q *question) answeredBy(text string) bool {
	if q.calls > 0 {
		return strings.Count(text, returned) == q.calls
	}
	return text == q.reply
}

// verifier compares what a session remembers with what was said in it.
type verifier struct {
	questions []*question
	seen      map[*question]*found
	current   *question // the one that was last seen
	position  int       // of current among the questions
	problems  []string
}

// found is what is remembered of a question.
type found struct{ groups, replies int }

// verify tells what is wrong with the history of a session in which questions were asked one after the other.
func verify(questions []*question, history []message.Message) []string {
	v := &verifier{questions: questions, seen: map[*question]*found{}, position: -1}
	for i := 0; i < len(history); {
		i += v.next(history[i:])
	}
	for _, q := range questions {
		f := v.seen[q]
		switch {
		case f == nil && q.state >= acknowledged:
			v.bad("lost the acknowledged message %q", q.text)
		case f == nil || q.state < answered:
		case f.replies == 0:
			v.bad("lost the answer to %q, which its asker has", q.text)
		case f.groups == 0 && q.calls > 0:
			v.bad("lost the calls of %q, whose answer its asker has", q.text)
		}
	}
	return v.problems
}

func (v *verifier) bad(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// next looks at what the history begins with and tells how many messages that was.
func (v *verifier) next(history []message.Message) int {
	m := history[0]
	switch {
	case m.Kind == message.KindEventMarker: // such as that of a summary; no part of the conversation
	case m.Role == message.RoleUser:
		v.user(m)
	case m.Role == message.RoleTool:
		v.bad("orphan tool message %q", m.ToolCallID)
	case m.Role != message.RoleAssistant:
		v.bad("message of the role %q: %q", m.Role, m.Content)
	case v.current == nil:
		v.bad("answer to nothing: %q", m.Content)
	case len(m.ToolCalls) > 0:
		return v.group(history)
	default:
		v.reply(m)
	}
	return 1
}

func (v *verifier) user(m message.Message) {
	for i, q := range v.questions {
		if q.text != m.Content {
			continue
		}
		switch {
		case v.seen[q] != nil:
			v.bad("duplicate message %q", q.text)
		case i < v.position:
			v.bad("message %q out of order", q.text)
		default:
			v.seen[q] = &found{}
			v.current, v.position = q, i
		}
		return
	}
	v.bad("message that nobody sent: %q", m.Content)
}

// group looks at calls with their results.
func (v *verifier) group(history []message.Message) int {
	calls := history[0].ToolCalls
	f := v.seen[v.current]
	if f.groups++; f.groups > 1 || f.replies > 0 {
		v.bad("duplicate calls of %q", v.current.text)
	}
	if len(calls) != v.current.calls {
		v.bad("%d calls instead of %d of %q", len(calls), v.current.calls, v.current.text)
	}
	for i, c := range calls {
		if i+1 >= len(history) || history[i+1].Role != message.RoleTool || history[i+1].ToolCallID != c.ID {
			v.bad("broken group of %q: call %q has no result", v.current.text, c.ID)
			return i + 1
		}
	}
	return len(calls) + 1
}

func (v *verifier) reply(m message.Message) {
	f := v.seen[v.current]
	if f.replies++; f.replies > 1 {
		v.bad("duplicate answer to %q", v.current.text)
	}
	if v.current.calls > 0 && f.groups == 0 {
		v.bad("answer to %q without its calls", v.current.text)
	}
	if !v.current.answeredBy(m.Content) {
		v.bad("answer to %q is not whole: %q", v.current.text, m.Content)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Severity says what a problem means for the bot.
type Severity string

// The severities, the gravest first.
const (
	// SeverityError: there is no config to deploy; the last good one stays.
	SeverityError Severity = "Error"
	// SeverityWarning: the config is deployed without something that is declared; the bot is not Ready.
	SeverityWarning Severity = "Warning"
	// SeverityInfo: worth knowing, nothing is wrong with the bot.
	SeverityInfo Severity = "Info"
)

func (s Severity) rank() int {
	return slices.Index([]Severity{SeverityError, SeverityWarning, SeverityInfo}, s)
}

// Problem is one thing that is wrong with what is declared.
type Problem struct {
	Severity Severity
	// Reason is one of the condition reasons of the API, as InvalidConfig.
	Reason string
	// Object is the object to change, as "Plugin main".
	Object string
	// Path is the field in it, as spec.config.temperature.
	Path string
	// Message is what is wrong and what is allowed.
	Message string
}

// String is the problem as people read it: object, path and message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Object + ": " + p.Message
	}
	return p.Object + ": " + p.Path + ": " + p.Message
}

// Error implements error.
func (p Problem) Error() string { return p.String() }

// Summary is one line for a condition: the first problems in full, as many as fit into limit characters, then how many
// more there are. The first is cut, not left out, if it alone does not fit.
func Summary(problems []Problem, limit int) string {
	if len(problems) == 0 {
		return ""
	}
	const room = len("; and 1000000 more")
	text := cut(problems[0].String(), limit-room)
	for i, p := range problems[1:] {
		next := text + "; " + p.String()
		if utf8.RuneCountInString(next) > limit-room {
			return text + fmt.Sprintf("; and %d more", len(problems)-1-i)
		}
		text = next
	}
	return text
}

func cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:max(0, limit-3)]) + "..."
}

// problems collects what is wrong.
type problems struct{ list []Problem }

// at reports a problem of one field of one object.
func (ps *problems) at(s Severity, reason, object, path, format string, args ...any) {
	ps.list = append(ps.list, Problem{Severity: s, Reason: reason, Object: object, Path: path, Message: fmt.Sprintf(format, args...)})
}

// sorted returns the problems, each once, in a stable order.
func (ps *problems) sorted() []Problem {
	slices.SortFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Severity.rank(), b.Severity.rank()), strings.Compare(a.Object, b.Object),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message), strings.Compare(a.Reason, b.Reason),
		)
	})
	return slices.Compact(ps.list)
}

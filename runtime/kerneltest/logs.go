// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Record is one captured log record, its attributes flattened to text: a group's attributes are named "group.key".
type Record struct {
	Level   slog.Level
	Message string
	Attrs   map[string]string
}

// String gives the record on one line, attributes sorted by key.
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Level, r.Message)
	keys := make([]string, 0, len(r.Attrs))
	for k := range r.Attrs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, " %s=%q", k, r.Attrs[k])
	}
	return b.String()
}

// Logs captures log records of every level. It is a slog.Handler; the zero value is ready to use.
type Logs struct {
	mu      sync.Mutex
	records []Record
}

var _ slog.Handler = (*Logs)(nil)

// Enabled implements slog.Handler: every level is captured.
func (l *Logs) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *Logs) Handle(_ context.Context, r slog.Record) error {
	l.add(r, nil, "")
	return nil
}

// WithAttrs implements slog.Handler.
func (l *Logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return (&logScope{logs: l}).WithAttrs(attrs)
}

// WithGroup implements slog.Handler.
func (l *Logs) WithGroup(name string) slog.Handler { return (&logScope{logs: l}).WithGroup(name) }

func (l *Logs) add(r slog.Record, attrs []Record, prefix string) {
	out := Record{Level: r.Level, Message: r.Message, Attrs: map[string]string{}}
	for _, a := range attrs {
		for k, v := range a.Attrs {
			out.Attrs[k] = v
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		flatten(out.Attrs, prefix, a)
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, out)
}

func flatten(into map[string]string, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	key := prefix + a.Key
	if v.Kind() != slog.KindGroup {
		into[key] = v.String()
		return
	}
	if a.Key != "" {
		prefix = key + "."
	}
	for _, sub := range v.Group() {
		flatten(into, prefix, sub)
	}
}

// logScope is a handler with attributes or a group.
type logScope struct {
	logs   *Logs
	attrs  []Record
	prefix string
}

func (s *logScope) Enabled(context.Context, slog.Level) bool { return true }

func (s *logScope) Handle(_ context.Context, r slog.Record) error {
	s.logs.add(r, s.attrs, s.prefix)
	return nil
}

func (s *logScope) WithAttrs(attrs []slog.Attr) slog.Handler {
	fixed := map[string]string{}
	for _, a := range attrs {
		flatten(fixed, s.prefix, a)
	}
	return &logScope{logs: s.logs, attrs: append(slices.Clone(s.attrs), Record{Attrs: fixed}), prefix: s.prefix}
}

func (s *logScope) WithGroup(name string) slog.Handler {
	if name == "" {
		return s
	}
	return &logScope{logs: s.logs, attrs: s.attrs, prefix: s.prefix + name + "."}
}

// Records returns what was captured so far, in order.
func (l *Logs) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// Reset forgets what was captured so far.
func (l *Logs) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = nil
}

// Find returns the records whose line contains every one of the texts.
func (l *Logs) Find(texts ...string) []Record {
	var out []Record
	for _, r := range l.Records() {
		line := r.String()
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(line, s) }) {
			out = append(out, r)
		}
	}
	return out
}

// AtLeast returns the records of a level or above.
func (l *Logs) AtLeast(level slog.Level) []Record {
	return slices.DeleteFunc(l.Records(), func(r Record) bool { return r.Level < level })
}

// String gives all records, one a line.
func (l *Logs) String() string {
	var b strings.Builder
	for _, r := range l.Records() {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}

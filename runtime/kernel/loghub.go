// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// LogEntry is one log record as a [LogHub] hands it out.
type LogEntry struct {
	// Seq numbers the entries of a hub from 0.
	Seq uint64
	// Time is by the clock the App was given.
	Time  time.Time
	Level slog.Level
	// Scope is the logger's, as "aalis:@aalis/plugin-agent"; "aalis" for the kernel itself.
	Scope string
	// Message is the message and then the attributes, as "key=value" with spaces between.
	Message string
}

// logTime is ISO 8601 with milliseconds and the offset, which is Z only when it is zero.
const logTime = "2006-01-02T15:04:05.000Z07:00"

// String gives the entry as one line, "seq|time|level|scope|message", in which line breaks are written as \n.
func (e LogEntry) String() string {
	return fmt.Sprintf("%d|%s|%s|%s|%s", e.Seq, e.Time.Format(logTime), levelName(e.Level), e.Scope,
		strings.ReplaceAll(e.Message, "\n", `\n`))
}

// ParseLogEntry reads a line that [LogEntry.String] wrote. Times have milliseconds and messages keep their written \n.
func ParseLogEntry(line string) (LogEntry, error) {
	parts := strings.SplitN(line, "|", 5)
	if len(parts) < 5 || strings.Contains(line, "\n") {
		return LogEntry{}, fmt.Errorf("log line must be one line of seq|time|level|scope|message, got %q", line)
	}
	seq, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return LogEntry{}, fmt.Errorf("log line: seq must be a whole number, got %q", parts[0])
	}
	at, err := time.Parse(logTime, parts[1])
	if err != nil {
		return LogEntry{}, fmt.Errorf("log line: time must be as %s, got %q", logTime, parts[1])
	}
	level, err := parseLevel(parts[2])
	if err != nil || parts[2] == "" {
		return LogEntry{}, fmt.Errorf("log line: level must be one of %v, got %q", levels, parts[2])
	}
	return LogEntry{Seq: seq, Time: at, Level: level, Scope: parts[3], Message: parts[4]}, nil
}

// LogHub numbers the log records of one App that its level lets pass and hands them to who subscribed. It keeps nothing.
type LogHub struct {
	now      func() time.Time
	seq      atomic.Uint64
	inFlight atomic.Int32
	mu       sync.Mutex
	subs     atomic.Pointer[[]*logSub] // replaced and never modified
}

type logSub struct{ fn func(LogEntry) }

// Subscribe has fn called for every entry until off is called, by the goroutine that logs, before the log call returns.
// Goroutines that log at the same time call it at the same time; Seq has the order. A panic in fn is swallowed: there is
// nowhere to log it.
func (h *LogHub) Subscribe(fn func(LogEntry)) (off func()) {
	s := &logSub{fn: fn}
	h.change(func(subs []*logSub) []*logSub { return append(subs, s) })
	return func() {
		h.change(func(subs []*logSub) []*logSub {
			return slices.DeleteFunc(subs, func(o *logSub) bool { return o == s })
		})
	}
}

func (h *LogHub) change(fn func([]*logSub) []*logSub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	subs := fn(slices.Clone(h.subscribers()))
	h.subs.Store(&subs)
}

func (h *LogHub) subscribers() []*logSub {
	if subs := h.subs.Load(); subs != nil {
		return *subs
	}
	return nil
}

// publish numbers a record and hands it out. A subscriber that logs hears itself, so its depth is bounded as an event's.
func (h *LogHub) publish(level slog.Level, scope string, message func() string) {
	seq := h.seq.Add(1) - 1
	subs := h.subscribers()
	if len(subs) == 0 {
		return
	}
	defer h.inFlight.Add(-1)
	if h.inFlight.Add(1) > maxInFlight {
		return
	}
	e := LogEntry{Seq: seq, Time: h.now(), Level: level, Scope: scope, Message: message()}
	for _, s := range subs {
		_ = safely(func() error { s.fn(e); return nil })
	}
}

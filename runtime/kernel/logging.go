// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// logFailure logs plugin code's failure as an error, a panic with its stack.
func logFailure(l *slog.Logger, err error, msg string, args ...any) {
	l.Error(msg, withError(err, args)...)
}

// logWarning is logFailure for failures that are put up with.
func logWarning(l *slog.Logger, err error, msg string, args ...any) {
	l.Warn(msg, withError(err, args)...)
}

func withError(err error, args []any) []any {
	args = append(args, "error", err.Error())
	var p *PanicError
	if errors.As(err, &p) {
		args = append(args, "stack", string(p.Stack))
	}
	return args
}

// levels are the values of Config.LogLevel.
var levels = []string{"debug", "info", "warn", "error"}

// parseLevel reads Config.LogLevel; empty means info.
func parseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("logLevel: must be one of %v, got %q", levels, name)
}

// levelName is the name of the highest level that is not above l, or debug.
func levelName(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warn"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}

// scopeKey is the attribute that says who logs.
const scopeKey = "scope"

// logHandler drops what is below the config's level, which may change while loggers made from it live, and gives the rest
// to the hub and the host's handler.
type logHandler struct {
	level *slog.LevelVar
	hub   *LogHub
	next  slog.Handler
	// These are the logger's own, as the hub's entries have them.
	scope, attrs, prefix string
}

var _ slog.Handler = logHandler{}

// Enabled implements slog.Handler.
func (h logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.hub.publish(r.Level, h.scope, func() string {
		var b strings.Builder
		b.WriteString(r.Message)
		b.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			writeAttr(&b, h.prefix, a)
			return true
		})
		return b.String()
	})
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next = h.next.WithAttrs(attrs)
	if len(attrs) == 1 && attrs[0].Key == scopeKey && h.prefix == "" {
		h.scope = attrs[0].Value.String()
		return h
	}
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, h.prefix, a)
	}
	h.attrs = b.String()
	return h
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h.next = h.next.WithGroup(name)
	h.prefix += name + "."
	return h
}

// writeAttr appends an attribute as " key=value", those of a group as " group.key=value".
func writeAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, sub := range v.Group() {
			writeAttr(b, prefix, sub)
		}
		return
	}
	if a.Key == "" && v.Kind() == slog.KindAny && v.Any() == nil {
		return // an empty attribute
	}
	b.WriteByte(' ')
	b.WriteString(prefix)
	b.WriteString(a.Key)
	b.WriteByte('=')
	b.WriteString(v.String())
}

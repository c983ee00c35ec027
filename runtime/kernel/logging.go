// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// levelHandler drops what is below the config's level, which may change while loggers made from it live.
type levelHandler struct {
	slog.Handler
	level *slog.LevelVar
}

func (h levelHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level.Level() && h.Handler.Enabled(ctx, l)
}

func (h levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return levelHandler{h.Handler.WithAttrs(attrs), h.level}
}

func (h levelHandler) WithGroup(name string) slog.Handler {
	return levelHandler{h.Handler.WithGroup(name), h.level}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestLogHub(t *testing.T) {
	t.Run("numbers what the level lets pass and hands it to who subscribed", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		h.Apply(func(c *kernel.Config) { c.LogLevel = "info" })
		listen := func(e kernel.LogEntry) {
			r.add(fmt.Sprintf("%s %s %s %s", e.Level, e.Scope, e.Message, e.Time.Sub(h.Clock.Now())))
		}
		off := h.App.Logs().Subscribe(listen)
		h.App.Logs().Subscribe(func(kernel.LogEntry) { panic("bad subscriber") })
		k := fork(t, h.Root(), "p")
		k.Logger().Debug("Below")
		k.Logger().Info("Did", "n", 1, slog.Group("at", "x", 2, slog.Group("", "y", 3)), slog.Attr{})
		k.Logger().With("who", "me").WithGroup("").WithGroup("g").With("a", "b").Error("Failed", "error", errors.New("broken\nin two"))
		h.Root().Logger().Warn("Odd")
		r.want(t, "INFO aalis:p Did n=1 at.x=2 at.y=3 0s", "ERROR aalis:p Failed who=me g.a=b g.error=broken\nin two 0s", "WARN aalis Odd 0s")
		if got := h.Logs.Find("Failed", `g.error="broken`); len(got) != 1 {
			t.Errorf("the host's log has %v", got)
		}
		off()
		off()
		k.Logger().Info("Unheard")
		r.want(t)
	}))
	t.Run("8.4.9 entries are numbered from 0, whoever listens", bubble(func(t *testing.T) {
		h := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Logger = nil }))
		var got []uint64
		h.App.Logs().Subscribe(func(e kernel.LogEntry) { got = append(got, e.Seq) })
		k := fork(t, h.Root(), "p")
		for range 3 {
			k.Logger().Info("x")
		}
		if len(got) != 3 || got[0] == 0 || got[1] != got[0]+1 || got[2] != got[0]+2 {
			t.Errorf("got %v: the banner of New has number 0", got)
		}
	}))
	t.Run("a subscriber that logs ends", func(t *testing.T) {
		h, n := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Logger = nil })), 0
		h.App.Logs().Subscribe(func(kernel.LogEntry) {
			n++
			h.Root().Logger().Info("again")
		})
		h.Root().Logger().Info("first")
		if n == 0 || n > 20000 {
			t.Errorf("called %d times", n)
		}
	})
}

func TestLogLine(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("", 8*3600))
	e := kernel.LogEntry{Seq: 7, Time: at, Level: slog.LevelWarn, Scope: "aalis:p", Message: "a|b\nc"}
	const line = `7|2026-01-02T03:04:05.678+08:00|warn|aalis:p|a|b\nc`
	if got := e.String(); got != line {
		t.Errorf("8.4.9 got %s, want %s", got, line)
	}
	got, err := kernel.ParseLogEntry(line)
	must(t, err)
	e.Time, e.Message = at.Truncate(time.Millisecond), `a|b\nc`
	if !got.Time.Equal(e.Time) {
		t.Errorf("8.4.9 time %s", got.Time)
	}
	got.Time = e.Time
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("8.4.9 a line does not come back (-want +got):\n%s", diff)
	}
	e.Time, e.Level = at.UTC(), slog.LevelInfo+1
	if got := e.String(); !strings.Contains(got, "678Z|info|") {
		t.Errorf("8.4.9 at offset zero the line is %s", got)
	}
	for _, bad := range []string{
		"", "a", "1|2|3|4", "x|2026-01-02T03:04:05.678Z|info|s|m", "1|yesterday|info|s|m", "1|2026-01-02T03:04:05.678Z|loud|s|m",
		"1|2026-01-02T03:04:05.678Z||s|m", line + "\n",
	} {
		if _, err := kernel.ParseLogEntry(bad); err == nil {
			t.Errorf("8.4.9 %q was read", bad)
		}
	}
}

func FuzzLogLine(f *testing.F) {
	f.Add("7|2026-01-02T03:04:05.678+08:00|warn|aalis:p|a|b\\nc")
	f.Add("0|2026-01-02T03:04:05.000Z|debug||")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := kernel.ParseLogEntry(line)
		if err != nil {
			return
		}
		again, err := kernel.ParseLogEntry(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%q becomes %q and then %q (%v)", line, e.String(), again.String(), err)
		}
	})
}

func TestTotals(t *testing.T) {
	t.Run("count emissions that were heard, and failures", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		before := h.App.Totals()
		ctx, k := context.Background(), h.Root()
		ping.Emit(ctx, k, "unheard")
		off := ping.On(k, func(_ context.Context, v string) error {
			if v == "bad" {
				return errors.New("bad")
			}
			return nil
		})
		kernel.NewEvent[int](ping.Name()).Emit(ctx, k, 1)
		ping.Emit(ctx, k, "good")
		ping.Emit(ctx, k, "bad")
		off()
		for i := range 100 { // makes the table anew, without events that nobody listens to
			kernel.NewEvent[int](fmt.Sprint("e", i)).On(k, func(context.Context, int) error { return nil })
		}
		got := h.App.Totals()
		if got.Emitted-before.Emitted != 3 || got.HandlerFailures-before.HandlerFailures != 2 || got.Dropped != 0 {
			t.Errorf("totals went from %+v to %+v", before, got)
		}
	}))
}

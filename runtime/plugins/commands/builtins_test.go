// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// send takes a message through the phase and reports whether it goes on.
func (b *bot) send(m message.Incoming) (reached bool, said []message.Outgoing) {
	b.t.Helper()
	reached, err := gateway.Command.Run(context.Background(), b.Root(), &gateway.Inbound{Message: m}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return reached, b.exit.take()
}

// TestInboundCommand is case 8.6.8.
func TestInboundCommand(t *testing.T) {
	b := start(t)
	var asked []access.Request
	b.r.SetGuard(func(_ context.Context, r access.Request) string {
		asked = append(asked, r)
		return ""
	})
	for _, text := range []string{"", "  ", "hello", "/unknown", "/", "say /help"} {
		if reached, said := b.send(message.Incoming{Content: text}); !reached || len(said) > 0 {
			t.Errorf("%q: reached %t, said %v", text, reached, said)
		}
	}
	b.add(b.Root(), commands.Command{Declaration: "silent", Handler: func(context.Context, commands.Call) (string, error) { return "", nil }})
	b.add(b.Root(), commands.Command{Declaration: "fails", Handler: func(context.Context, commands.Call) (string, error) {
		return "", errors.New("broken")
	}})
	if reached, said := b.send(message.Incoming{Content: "/silent"}); reached || len(said) != 0 {
		t.Errorf("a command without a text: %t, %v", reached, said)
	}
	in := message.Incoming{Content: "/fails", SessionID: "s", Platform: "p", UserID: "u", TurnID: "t", SessionType: message.SessionGroup}
	reached, said := b.send(in)
	want := []message.Outgoing{{
		Content: "The command failed: broken", SessionID: "s", Platform: "p", TurnID: "t", Source: message.FromCommand,
	}}
	if diff := cmp.Diff(want, said); reached || diff != "" {
		t.Errorf("reached %t (-want +got):\n%s", reached, diff)
	}
	asked = nil
	in.Content, in.Actor = "/status", &message.Actor{Platform: "q", UserID: "v"}
	for _, source := range []string{"", "user", "scheduler", "workflow", "system", "Scheduler", " scheduler", "fake", "idle-trigger"} {
		in.Source = source
		b.Logs.Reset()
		reached, said := b.send(in)
		quiet := slices.Contains([]string{"scheduler", "workflow", "system"}, source)
		if reached || (len(said) == 0) != quiet || (len(b.Logs.Find("INFO", "Ran Command", "status")) == 1) != quiet {
			t.Errorf("%q: reached %t, said %v", source, reached, said)
		}
		if r := asked[len(asked)-1]; r.SkipConfirm != quiet || r.Platform != "q" || r.UserID != "v" {
			t.Errorf("%q: asked %+v", source, r)
		}
		if !quiet && said[0].Platform != "p" {
			t.Errorf("%q: the answer goes to %q", source, said[0].Platform)
		}
	}
	in.Actor, in.Source = nil, ""
	b.send(in)
	if r := asked[len(asked)-1]; r.Platform != "p" || r.UserID != "u" {
		t.Errorf("without an actor: %+v", r)
	}
}

func TestLoggedResultsAreCut(t *testing.T) {
	b := start(t)
	b.add(b.Root(), says("long", strings.Repeat("长", 600)))
	b.send(message.Incoming{Content: "/long", Source: "system"})
	got := b.Logs.Find("Ran Command")
	if len(got) != 1 || got[0].Attrs["result"] != strings.Repeat("长", 499)+"…" {
		t.Errorf("got %v", got)
	}
}

func TestStatus(t *testing.T) {
	b := start(t)
	off := b.Root()
	kernel.NewService[struct{}]("secret:llm/api-key").Provide(off, struct{}{})
	want := "**Status of Test**\n\n- Plugins: 1 active, 0 waiting, 0 in error\n- Services: app, commands, gateway, plugins\n- Tools: 0\n- Commands: 7"
	if got := b.run("/status"); got != want {
		t.Errorf("got %q", got)
	}
	b = start(t, inChinese())
	if got := b.run("/status"); !strings.HasPrefix(got, "**Test 的运行状态**\n\n- 插件: 1 个运行中，") {
		t.Errorf("got %q", got)
	}
}

func TestRestartAndShutdownInACluster(t *testing.T) {
	b := start(t)
	for _, line := range []string{"/restart", "/shutdown"} {
		if got := b.run(line); !strings.Contains(got, "permission check") {
			t.Errorf("%s is not refused: %q", line, got)
		}
	}
	b.allowAll()
	if got := b.run("/restart"); !strings.Contains(got, "kubectl rollout restart statefulset/aalis-Test") {
		t.Errorf("got %q", got)
	}
	if got := b.run("/shutdown"); !strings.Contains(got, "set spec.state of the AgentInstance Test to Suspended") {
		t.Errorf("got %q", got)
	}
}

// strategy restarts nothing and tells that it was asked to.
type strategy chan struct{}

func (s strategy) Restart(context.Context, kernel.RestartRequest) error {
	s <- struct{}{}
	return errors.New("not in a test")
}

func TestRestartAndShutdownWithAStrategy(t *testing.T) {
	kerneltest.NoLeaks(t)
	s := make(strategy, 1)
	b := start(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Restart = s }))
	stopped := make(chan struct{})
	kernel.EventAppStopping.On(b.Root(), func(context.Context, struct{}) error {
		close(stopped)
		return nil
	})
	b.allowAll()
	if got := b.run("/restart"); got != "The bot restarts now." {
		t.Errorf("got %q", got)
	}
	wait(t, s)
	if got := b.run("/shutdown"); got != "The bot shuts down now." {
		t.Errorf("got %q", got)
	}
	wait(t, stopped)
	b.Stop()
}

func TestALaterShutdownIsDroppedWithThePlugin(t *testing.T) {
	h := kerneltest.New(t)
	k, err := h.Root().Fork("x")
	if err != nil {
		t.Fatal(err)
	}
	var timer *time.Timer
	p := &process{k: k, after: func(_ time.Duration, fn func()) *time.Timer {
		timer = time.AfterFunc(time.Hour, fn)
		return timer
	}}
	p.later("x", func() { t.Error("it happened") })
	if err := k.Dispose(context.Background()); err != nil {
		t.Fatal(err)
	}
	if timer.Stop() {
		t.Error("the timer still runs")
	}
}

func wait[T any](t *testing.T, c <-chan T) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(kerneltest.Patience):
		t.Fatal("it did not happen")
	}
}

// people knows one owner and one of level 2.
type people struct{}

func (people) IsOwner(platform, user string) bool { return platform == "p" && user == "owner" }
func (people) Level(platform, user string) int {
	return map[string]int{"p:admin": 2, "p:helper": 1, "p:banned": -1}[platform+":"+user]
}
func (people) SetConfirmHandler(string, access.ConfirmHandler) (off func()) { return func() {} }

// TestWhoMayClear is the first half of case 8.6.9.
func TestWhoMayClear(t *testing.T) {
	b := start(t)
	if got := b.run("/clear"); !strings.Contains(got, "permission check") {
		t.Errorf("without a guard: %q", got)
	}
	b.allowAll()
	off := access.Service.Provide(b.Root(), people{})
	refused := "In a group, clearing needs level 2 or an owner. In a private chat with the bot you may clear your own session."
	try := func(user string, kind message.SessionType, want string) {
		t.Helper()
		for _, line := range []string{"/clear", "/clear all"} {
			if got := b.runAs(line, commands.Call{SessionID: "s", Platform: "p", UserID: user, SessionType: kind}); got != want {
				t.Errorf("%s by %q in %q: got %q", line, user, kind, got)
			}
		}
	}
	const nothing = "There was nothing to clear."
	for user, may := range map[string]bool{"": false, "anybody": false, "helper": false, "banned": false, "admin": true, "owner": true} {
		want := refused
		if may {
			want = nothing
		}
		try(user, message.SessionGroup, want)
		try(user, message.SessionChannel, want)
		try(user, message.SessionPrivate, nothing)
		try(user, "", nothing)
	}
	off()
	try("owner", message.SessionGroup, refused)
}

func TestClearTypes(t *testing.T) {
	b := start(t)
	b.allowAll()
	var seen []memory.ClearData
	memory.Clear.Use(b.Root(), func(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
		seen = append(seen, memory.ClearData{Scope: d.Scope, Types: d.Types, SessionID: d.SessionID})
		return next(ctx)
	})
	for line, want := range map[string]memory.ClearData{
		"/clear":                             {Scope: memory.ClearSessionScope},
		"/clear -t all":                      {Scope: memory.ClearSessionScope},
		"/clear -t summary,all":              {Scope: memory.ClearSessionScope},
		"/clear -t History --type messages":  {Scope: memory.ClearSessionScope, Types: []string{"context"}},
		"/clear -t profiles,image -t vector": {Scope: memory.ClearSessionScope, Types: []string{"user-profile", "image", "vector"}},
		"/clear all --type=user-relation":    {Scope: memory.ClearAllScope, Types: []string{"user-relation"}},
	} {
		seen = nil
		want.SessionID = "s"
		b.runAs(line, commands.Call{SessionID: "s"})
		if diff := cmp.Diff([]memory.ClearData{want}, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	want := `There is no type "nukes". Possible are: context, summary, vector, image, video, audio, file, persona, checkpoint, user-profile, user-relation, all.`
	if got := b.run("/clear -t image,nukes"); got != want {
		t.Errorf("got %q", got)
	}
	list := b.run("/clear list")
	for _, c := range clearables {
		if !strings.Contains(list, "\n- `"+c.id+"` — ") {
			t.Errorf("%s is not in %q", c.id, list)
		}
	}
}

func TestClearTellsWhatItDid(t *testing.T) {
	b := start(t, inChinese())
	b.allowAll()
	var undone []string
	fail := error(nil)
	memory.Clear.Use(b.Root(), func(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
		d.Add("summary", true, "")
		d.Add("vector", false, "索引被占用")
		d.Add("persona", false, "")
		d.Rollbacks = append(d.Rollbacks, memory.Rollback{Source: "summary", Undo: func(context.Context) error {
			undone = append(undone, "summary")
			return nil
		}})
		if fail != nil {
			d.Results = d.Results[:1]
			return fail
		}
		return next(ctx)
	})
	if got := b.run("/clear"); got != "✅ summary: 已清除\n⚠ vector: 索引被占用\n⚠ persona: 清除失败" || len(undone) != 0 {
		t.Errorf("got %q, undone %v", got, undone)
	}
	fail = errors.New("磁盘已满")
	got := b.run("/clear")
	if want := "✅ summary: 已清除\n⚠ 指令执行失败: "; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "磁盘已满\n⚠ 清除中途失败，已尽可能撤销此前的改动。") {
		t.Errorf("got %q", got)
	}
	if len(undone) != 1 {
		t.Errorf("undone %v", undone)
	}
}

// TestAttachments is the second half of case 8.6.9.
func TestAttachments(t *testing.T) {
	dir := t.TempDir()
	b := start(t, kerneltest.WithOptions(func(o *kernel.Options) { o.DataDir = dir }))
	b.allowAll()
	files := []string{
		"images/onebot_group_1/a.png", "images/other/b.png", "videos/onebot_group_1/a", "audios/onebot_group_1/a",
		"files/onebot_group_1/d/a", "aalis.db",
	}
	write := func() {
		t.Helper()
		for _, f := range files {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	there := func() []string {
		var out []string
		for _, f := range files {
			if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
				out = append(out, f)
			}
		}
		return out
	}
	for _, tc := range []struct {
		line, session string
		left          []string
		want          string
	}{
		{"/clear -t image,audio", "onebot:group/1", []string{files[1], files[2], files[4], files[5]}, "✅ image: cleared\n✅ audio: cleared"},
		{"/clear", `onebot:group\1`, []string{files[1], files[5]}, "✅ image: cleared\n✅ video: cleared\n✅ audio: cleared\n✅ file: cleared"},
		{"/clear -t summary", "onebot:group:1", files, "There was nothing to clear."},
		{"/clear", "", files, "There was nothing to clear."},
		{"/clear", ".", files, "There was nothing to clear."},
		{"/clear", "..", files, "There was nothing to clear."},
		{"/clear", "../..", files, "There was nothing to clear."},
		{"/clear -t file", "none", files, "There was nothing to clear."},
		{"/clear all -t image,file", "x", []string{files[2], files[3], files[5]}, "✅ image: cleared\n✅ file: cleared"},
	} {
		write()
		got := b.runAs(tc.line, commands.Call{SessionID: tc.session})
		if diff := cmp.Diff(tc.left, there()); got != tc.want || diff != "" {
			t.Errorf("%s of %q: got %q (-want +got):\n%s", tc.line, tc.session, got, diff)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "images")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "images")); err != nil {
		t.Fatal(err)
	}
	if got := b.runAs("/clear -t image", commands.Call{SessionID: "x"}); !strings.HasPrefix(got, "⚠ image: removing images: ") {
		t.Errorf("a link out of the data directory: %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := b.runAs("/clear", commands.Call{SessionID: "x"}); got != "There was nothing to clear." {
		t.Errorf("without a data directory: %q", got)
	}
}

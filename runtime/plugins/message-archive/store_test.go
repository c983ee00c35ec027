// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// fakeMemory keeps what is saved; before is called first and may fail the call.
type fakeMemory struct {
	memory.Backend
	before func(ctx context.Context, m message.Message) error

	mu    sync.Mutex
	saved map[string][]message.Message
	// groups counts the calls of SaveMessages.
	groups int
}

func (f *fakeMemory) SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error {
	for _, m := range ms {
		if err := f.SaveMessage(ctx, sessionID, m); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.groups++
	return nil
}

func (f *fakeMemory) SaveMessage(ctx context.Context, sessionID string, m message.Message) error {
	if f.before != nil {
		if err := f.before(ctx, m); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved == nil {
		f.saved = map[string][]message.Message{}
	}
	f.saved[sessionID] = append(f.saved[sessionID], m)
	return nil
}

func (f *fakeMemory) texts(session string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, m := range f.saved[session] {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

func start(t *testing.T, f *fakeMemory) (*kerneltest.Harness, archive.Archive) {
	t.Helper()
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", nil), kerneltest.WithService[memory.Backend](memory.Service, f))
	a, ok := archive.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no archive:\n%s", h.Logs)
	}
	return h, a
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, &fakeMemory{}))
}

func TestArchivedForm(t *testing.T) {
	for name, tc := range map[string]struct {
		in   message.Incoming
		want message.Message
	}{
		"sender": {
			message.Incoming{Content: "hi", Platform: "onebot", UserID: "1", Nickname: " Ann "},
			message.Message{Role: message.RoleUser, Name: "1", Content: "[Ann(1)]: hi", Metadata: map[string]any{
				"userId": "1", "nickname": " Ann ", "platform": "onebot",
			}},
		},
		"no sender": {
			message.Incoming{Content: "hi", Platform: "onebot"},
			message.Message{Role: message.RoleUser, Content: "hi", Metadata: map[string]any{"platform": "onebot"}},
		},
		"webui": {
			message.Incoming{Content: "hi", Platform: "webui", UserID: "1"},
			message.Message{Role: message.RoleUser, Name: "1", Content: "hi", Metadata: map[string]any{
				"userId": "1", "platform": "webui",
			}},
		},
		"cli":    {message.Incoming{Content: "hi", Platform: "cli", Nickname: "x"}, message.Message{Role: message.RoleUser, Content: "hi", Metadata: map[string]any{"nickname": "x", "platform": "cli"}}},
		"openai": {message.Incoming{Content: "hi", Platform: "openai", UserID: "u"}, message.Message{Role: message.RoleUser, Name: "u", Content: "hi", Metadata: map[string]any{"userId": "u", "platform": "openai"}}},
		"quote": {
			message.Incoming{Content: "yes", ReplyTo: &message.Quote{Content: "no?", UserID: "2", Nickname: "Bob"}},
			message.Message{Role: message.RoleUser, Content: "yes\n[引用 Bob(2) 的消息: no?]", Metadata: map[string]any{}},
		},
		"quote of nobody": {
			message.Incoming{Content: "yes", ReplyTo: &message.Quote{Content: "no?"}},
			message.Message{Role: message.RoleUser, Content: "yes\n[引用 ? 的消息: no?]", Metadata: map[string]any{}},
		},
		"quote of nothing": {
			message.Incoming{Content: "yes", ReplyTo: &message.Quote{MessageID: "7"}},
			message.Message{Role: message.RoleUser, Content: "yes", Metadata: map[string]any{}},
		},
		"descriptions of attachments": {
			message.Incoming{
				Content: "look", ReplyTo: &message.Quote{Content: "so?"}, Descriptions: []string{"[图片: a cat | ref:1]", "", " \n", "[音频] meow "},
				Attachments: []message.Attachment{{Kind: "image"}, {Kind: "image"}, {Kind: "video"}, {Kind: "audio"}},
			},
			message.Message{Role: message.RoleUser, Content: "look\n[引用 ? 的消息: so?]\n[图片: a cat | ref:1]\n[音频] meow", Metadata: map[string]any{}},
		},
		"everything": {
			message.Incoming{
				Content:  `<at self id="9">me</at> <at id="8">x</at><at id="8">x</at> <at id="all">all</at> <at>all</at>`,
				Platform: "onebot", GroupID: "g", GroupName: "G", SessionType: message.SessionGroup, MessageID: "m",
				TriggerType: message.TriggerInterval, Source: "scheduler",
				Attachments: []message.Attachment{{Kind: "file", Name: "a.txt"}, {Kind: "image", Name: "b.png"}, {Kind: "file"}},
			},
			message.Message{
				Role:    message.RoleUser,
				Content: `<at self id="9">me</at> <at id="8">x</at><at id="8">x</at> <at id="all">all</at> <at>all</at>`,
				Metadata: map[string]any{
					"platform": "onebot", "groupId": "g", "groupName": "G", "sessionType": "group", "messageId": "m",
					"triggerType": "interval", "source": "scheduler", "fileNames": []any{"a.txt"}, "mentions": []any{"9", "8"},
				},
			},
		},
		"delegation": {
			message.Incoming{Content: "do it", TriggerType: message.TriggerProactive, Source: "proactive:from:x"},
			message.Message{
				Role: message.RoleNotice, Kind: message.KindCrossSessionDelegation, Content: "do it",
				Metadata: map[string]any{"triggerType": "proactive", "source": "proactive:from:x"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			f := &fakeMemory{}
			h, a := start(t, f)
			told := make(chan message.Archived, 1)
			message.InboundArchived.On(h.Root(), func(_ context.Context, v message.Archived) error {
				told <- v
				return nil
			})
			tc.in.SessionID = "s"
			tc.want.Timestamp = h.Clock.Now().UnixMilli()
			got, err := a.ArchiveIncoming(t.Context(), tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("returned (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]message.Message{tc.want}, f.saved["s"]); diff != "" {
				t.Errorf("saved (-want +got):\n%s", diff)
			}
			select {
			case v := <-told:
				if diff := cmp.Diff(message.Archived{SessionID: "s", Incoming: tc.in, Message: tc.want}, v); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			case <-time.After(kerneltest.Patience):
				t.Fatal("nobody was told")
			}
			if _, err := json.Marshal(got.Metadata); err != nil {
				t.Errorf("metadata is no JSON: %v", err)
			}
		})
	}
}

func TestListenersGetACopy(t *testing.T) {
	f := &fakeMemory{}
	h, a := start(t, f)
	told := make(chan struct{})
	message.InboundArchived.On(h.Root(), func(_ context.Context, v message.Archived) error {
		defer close(told)
		v.Incoming.Attachments[0].Name = "spoilt"
		v.Incoming.ReplyTo.Content = "spoilt"
		v.Incoming.Actor.UserID = "spoilt"
		return nil
	})
	in := message.Incoming{
		SessionID: "s", Attachments: []message.Attachment{{Name: "a"}}, ReplyTo: &message.Quote{Content: "q"},
		Actor: &message.Actor{UserID: "u"},
	}
	if _, err := a.ArchiveIncoming(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	<-told
	if in.Attachments[0].Name != "a" || in.ReplyTo.Content != "q" || in.Actor.UserID != "u" {
		t.Errorf("a listener changed the sender's message: %+v", in)
	}
}

func TestFailuresAreReturnedAndNotTold(t *testing.T) {
	broken := errors.New("broken")
	f := &fakeMemory{before: func(context.Context, message.Message) error { return broken }}
	h, a := start(t, f)
	message.InboundArchived.On(h.Root(), func(context.Context, message.Archived) error {
		t.Error("a message that was not stored was told of")
		return nil
	})
	if _, err := a.ArchiveIncoming(t.Context(), message.Incoming{SessionID: "s"}); !errors.Is(err, broken) {
		t.Errorf("got error %v", err)
	}
	if err := a.SaveMessage(t.Context(), "s", message.Message{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), `"s"`) {
		t.Errorf("got error %v", err)
	}
}

// Whoever comes first is stored first, although memory takes its time over the first one.
func TestOrderOfASessionIsKept(t *testing.T) {
	kerneltest.NoLeaks(t)
	inside, release := make(chan string, 100), make(chan struct{})
	f := &fakeMemory{before: func(_ context.Context, m message.Message) error {
		inside <- m.Content
		if m.Content == "0" {
			<-release
		}
		return nil
	}}
	_, a := start(t, f)
	s, ok := a.(*store)
	if !ok {
		t.Fatal("not ours")
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := a.SaveMessage(t.Context(), "s", message.Message{Content: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			<-inside // from here on the others wait behind it
		}
		waitFor(t, func() bool { return s.queues.length("s") == i })
	}
	if err := a.SaveMessage(t.Context(), "other", message.Message{Content: "free"}); err != nil {
		t.Fatal(err)
	}
	close(release)
	wg.Wait()
	want := make([]string, 20)
	for i := range want {
		want[i] = fmt.Sprint(i)
	}
	if got := f.texts("s"); got != strings.Join(want, " ") {
		t.Errorf("got %q", got)
	}
	if len(s.queues.waiting) != 0 {
		t.Errorf("queues are left behind: %v", s.queues.waiting)
	}
}

func TestGivingUpPassesTheTurnOn(t *testing.T) {
	kerneltest.NoLeaks(t)
	q := newQueues()
	if err := q.enter(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp, entered := make(chan error, 1), make(chan error, 1)
	go func() { gaveUp <- q.enter(ctx, "s") }()
	waitFor(t, func() bool { return q.length("s") == 1 })
	go func() { entered <- q.enter(t.Context(), "s") }()
	waitFor(t, func() bool { return q.length("s") == 2 })
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	q.leave("s")
	if err := <-entered; err != nil {
		t.Errorf("got error %v", err)
	}
	q.leave("s")
	// A call whose turn comes while it gives up hands it on.
	turn := make(chan struct{})
	q.waiting["s"] = nil
	q.giveUp("s", turn)
	if len(q.waiting) != 0 {
		t.Errorf("queues are left behind: %v", q.waiting)
	}
}

func TestTheLineIsBounded(t *testing.T) {
	q := newQueues()
	q.waiting["s"] = slices.Repeat([]chan struct{}{nil}, maxWaiting)
	if err := q.enter(t.Context(), "s"); err == nil {
		t.Error("one more was taken")
	}
}

func TestDebugLogs(t *testing.T) {
	f := &fakeMemory{}
	h, a := start(t, f)
	save := func() {
		t.Helper()
		if err := a.SaveMessage(t.Context(), "s", message.Message{Content: "secret text"}); err != nil {
			t.Fatal(err)
		}
	}
	save()
	if found := h.Logs.Find("DEBUG", "Stored Message", `units="11"`); len(found) != 1 {
		t.Errorf("not in the log:\n%s", h.Logs)
	}
	h.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"debugLogs": false}}
	})
	save()
	if found := h.Logs.Find("Stored Message"); len(found) != 1 {
		t.Errorf("turned off, it still logs:\n%s", h.Logs)
	}
	if found := h.Logs.Find("secret text"); len(found) != 0 {
		t.Errorf("the log holds what was said: %v", found)
	}
}

func TestSlowListenersHoldUpOnlyTooManyMessages(t *testing.T) {
	kerneltest.NoLeaks(t)
	f := &fakeMemory{}
	h, a := start(t, f)
	block := make(chan struct{})
	message.InboundArchived.On(h.Root(), func(context.Context, message.Archived) error {
		<-block
		return nil
	})
	for range maxTelling {
		if _, err := a.ArchiveIncoming(t.Context(), message.Incoming{SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.before = func(context.Context, message.Message) error { return nil }
	if _, err := a.ArchiveIncoming(ctx, message.Incoming{SessionID: "s"}); err != nil {
		t.Errorf("a stored message was reported as failed: %v", err)
	}
	if len(h.Logs.Find("WARN", "listeners are slow")) != 1 {
		t.Errorf("the dropped event is not in the log")
	}
	close(block)
}

func FuzzMentions(f *testing.F) {
	f.Add(`<at id="1">x</at>`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, id := range mentions(s) {
			if !strings.Contains(s, id.(string)) || id == "" || id == "all" {
				t.Errorf("id %q of %q", id, s)
			}
		}
	})
}

func (q *queues) length(session string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[session])
}

// waitFor polls a condition that other goroutines bring about and that nothing announces.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(kerneltest.Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition never came true")
		}
	}
}

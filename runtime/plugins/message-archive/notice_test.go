// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// History gives what was saved, the newest limit of it.
func (f *fakeMemory) History(_ context.Context, sessionID string, limit int) ([]message.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.saved[sessionID]
	return all[max(0, len(all)-limit):], nil
}

func TestArchiveNotice(t *testing.T) {
	f := &fakeMemory{}
	_, a := start(t, f)
	if _, ok, err := a.ArchiveNotice(t.Context(), archive.Notice{SessionID: "s", Text: " \n"}); ok || err != nil {
		t.Errorf("a blank notice: %v, %v", ok, err)
	}
	n := archive.Notice{
		SessionID: "s", Type: "poke", SubType: "friend", Text: "Ann pokes", Platform: "onebot", UserID: "1",
		Data: map[string]any{"targetId": "2", "platform": "forged"},
	}
	got, ok, err := a.ArchiveNotice(t.Context(), n)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want := message.Message{Role: message.RoleNotice, Kind: "poke", Content: "Ann pokes", Timestamp: got.Timestamp, Metadata: map[string]any{
		"subType": "friend", "platform": "onebot", "userId": "1", "targetId": "2",
	}}
	if diff := cmp.Diff([]message.Message{want}, f.saved["s"]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if _, _, err := a.ArchiveNotice(t.Context(), archive.Notice{Text: "x"}); err != nil {
		t.Logf("without a session: %v", err)
	}
}

func TestFindByMessageID(t *testing.T) {
	f := &fakeMemory{}
	_, a := start(t, f)
	for i := range 600 {
		m := message.Message{Content: fmt.Sprint(i), Metadata: map[string]any{"messageId": fmt.Sprint(i % 590)}}
		if err := a.SaveMessage(t.Context(), "s", m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		id    string
		limit int
		want  string
	}{{"5", 0, "595"}, {"589", 11, "589"}, {"589", 10, ""}, {"450", 0, ""}, {"450", 500, "450"}, {"50", 10000, ""}, {"", 0, ""}} {
		m, ok, err := a.FindByMessageID(t.Context(), "s", tc.id, tc.limit)
		if err != nil || m.Content != tc.want || ok != (tc.want != "") {
			t.Errorf("%q in %d: got %q, %v, %v", tc.id, tc.limit, m.Content, ok, err)
		}
	}
}

func TestSaveMessagesIsOneCall(t *testing.T) {
	f := &fakeMemory{}
	_, a := start(t, f)
	ms := []message.Message{{Content: "call"}, {Content: "result"}}
	if err := a.SaveMessages(t.Context(), "s", ms); err != nil {
		t.Fatal(err)
	}
	if err := a.SaveMessages(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	if got := f.texts("s"); got != "call result" || f.groups != 1 {
		t.Errorf("got %q in %d groups", got, f.groups)
	}
}

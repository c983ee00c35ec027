// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/platform"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// connection is the adapter of the test's platform.
type connection struct{}

func (connection) Platform() string         { return "test" }
func (connection) CanHandle(id string) bool { return id == "s" }
func (connection) Self(string) (platform.Identity, bool) {
	return platform.Identity{UserID: "7", Nickname: "Owl"}, true
}

// TestSelfIdentity: what the bot says is stored under who it is on the platform.
func TestSelfIdentity(t *testing.T) {
	b := newBot(t, saying(text("hi")), kerneltest.WithService[platform.Adapter](platform.Service, connection{}))
	b.handle(hello())
	all := b.store.all("s")
	last := all[len(all)-1]
	delete(last.Metadata, "modelInfo")
	want := map[string]any{
		"platform": "test", "senderType": "assistant", "sessionType": "private", "userId": "7", "nickname": "Owl",
	}
	if d := cmp.Diff(want, last.Metadata); last.Role != message.RoleAssistant || d != "" {
		t.Errorf("%s %s", last.Role, d)
	}
}

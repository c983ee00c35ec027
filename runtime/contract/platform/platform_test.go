// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/platform"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

type adapter struct {
	platform, session string
	self              platform.Identity
	breaks            bool
}

func (a adapter) Platform() string         { return a.platform }
func (a adapter) CanHandle(id string) bool { return id == a.session }
func (a adapter) Self(string) (platform.Identity, bool) {
	if a.breaks {
		panic("broken")
	}
	return a.self, a.self != platform.Identity{}
}

func TestSelf(t *testing.T) {
	h := kerneltest.New(t)
	if _, ok := platform.Self(h.Root(), "p", "s"); ok {
		t.Error("somebody is known with no adapter")
	}
	bot := platform.Identity{UserID: "7", Nickname: "Owl"}
	for _, a := range []adapter{
		{"p", "s", bot, true}, {"q", "s", platform.Identity{UserID: "8"}, false}, {"p", "t", platform.Identity{UserID: "9"}, false},
		{"p", "s", platform.Identity{Nickname: "nameless"}, false}, {"p", "s", platform.Identity{}, false}, {"p", "s", bot, false},
	} {
		platform.Service.Provide(h.Root(), platform.Adapter(a))
	}
	if got, ok := platform.Self(h.Root(), "p", "s"); !ok || got != bot {
		t.Errorf("got %+v %t", got, ok)
	}
	if got, ok := platform.Self(h.Root(), "p", "nowhere"); ok {
		t.Errorf("got %+v", got)
	}
	if len(h.Logs.Find("WARN", "failed to say who the bot is")) == 0 {
		t.Error("a failing adapter is not logged")
	}
}

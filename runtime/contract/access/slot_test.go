// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
)

func saying(text string) access.Guard {
	return func(context.Context, access.Request) string { return text }
}

func TestSlot(t *testing.T) {
	var s access.Slot
	want := func(when, text string) {
		t.Helper()
		got := ""
		if g := s.Guard(); g != nil {
			got = g(t.Context(), access.Request{})
		}
		if got != text {
			t.Errorf("%s: the guard says %q, want %q", when, got, text)
		}
	}
	want("at first", "")
	first, replaced := s.Set(saying("first"))
	if replaced {
		t.Error("the first guard replaced another")
	}
	want("with the first", "first")
	second, replaced := s.Set(saying("second"))
	if !replaced {
		t.Error("the second guard replaced none")
	}
	first()
	want("after the first has gone, which was replaced", "second")
	second()
	want("after the second has gone", "")
	third, _ := s.Set(saying("third"))
	second()
	want("after the second has gone again", "third")
	none, replaced := s.Set(nil)
	if replaced {
		t.Error("no guard counts as one that replaced another")
	}
	want("with none", "")
	third()
	if _, replaced = s.Set(saying("fourth")); replaced {
		t.Error("a guard replaced none")
	}
	none()
	want("after none has gone", "fourth")
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

type fake struct {
	Model

	info Info
}

func (f *fake) Info() Info { return f.info }

func TestCandidates(t *testing.T) {
	t.Parallel()
	entry := func(provider, id string, caps ...Capability) kernel.Provided[Model] {
		info := Info{ID: id, Provider: provider, Capabilities: append(caps, CapChat)}
		return kernel.Provided[Model]{EntryID: info.Entry(), Instance: &fake{info: info}}
	}
	entries := []kernel.Provided[Model]{entry("a", "x"), entry("b", "y", CapVision), entry("c", "z"), entry("d", "w")}
	prefer := []string{"a/x", "b/y", "gone/g", "c/z"}
	for _, tt := range []struct {
		name   string
		ref    Ref
		caps   []Capability
		prefer []string
		want   string
	}{
		{"best", Ref{}, nil, prefer, "a/x b/y c/z"},
		{"from the middle", Ref{Provider: "b", ID: "y"}, nil, prefer, "b/y c/z"},
		{"the last", Ref{ID: "z"}, nil, prefer, "c/z"},
		{"not in the list", Ref{ID: "w"}, nil, prefer, "d/w a/x b/y c/z"},
		{"capability", Ref{}, []Capability{CapVision}, prefer, "b/y"},
		{"no preference", Ref{Provider: "c"}, nil, nil, "c/z"},
		{"not there", Ref{ID: "nobody"}, nil, prefer, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range candidates(entries, tt.prefer, tt.ref, tt.caps) {
				got = append(got, m.Info().Entry())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestMayFallOver(t *testing.T) {
	t.Parallel()
	both := []Cause{Unavailable, RateLimited}
	for _, tt := range []struct {
		err  error
		on   []Cause
		want bool
	}{
		{&Error{Cause: Unavailable, BeforeFirstByte: true}, both, true},
		{fmt.Errorf("x: %w", &Error{Cause: RateLimited, BeforeFirstByte: true}), both, true},
		{&Error{Cause: RateLimited, BeforeFirstByte: true}, []Cause{Unavailable}, false},
		{&Error{Cause: Unavailable}, both, false},
		{&Error{Cause: Timeout, BeforeFirstByte: true}, []Cause{Unavailable}, true},
		{&Error{Cause: Timeout, BeforeFirstByte: true}, []Cause{RateLimited}, false},
		{&Error{Cause: ContentFiltered, BeforeFirstByte: true}, both, false},
		{&Error{Cause: Unavailable, BeforeFirstByte: true}, nil, false},
		{errors.New("x"), both, false},
		{nil, both, false},
	} {
		if got := MayFallOver(tt.err, tt.on); got != tt.want {
			t.Errorf("%#v on %v: got %v", tt.err, tt.on, got)
		}
	}
	if errors.Is(&Error{Cause: Timeout, Err: context.DeadlineExceeded}, context.DeadlineExceeded) {
		t.Error("a provider's timeout looks like the caller's")
	}
	if !errors.Is(&Error{Cause: Unavailable, Err: errStub}, errStub) || CauseOf(errStub) != "" {
		t.Error("what is underneath is lost")
	}
}

var errStub = errors.New("stub")

// Case 8.7.5: what the exit function makes of text.
func TestCase875Prepare(t *testing.T) {
	t.Parallel()
	in := []message.Message{{Role: message.RoleUser, Content: "a\xed\xa0\x80b 🦉"}, {Role: message.RoleAssistant}, {Role: "odd", Content: "x"}}
	once := Prepare(in)
	if !strings.HasPrefix(once[0].Content, "a\ufffd") || !strings.HasSuffix(once[0].Content, "b 🦉") || once[1].Content != "" || once[2].Role != message.RoleSystem {
		t.Errorf("got %+v", once)
	}
	if in[2].Role != "odd" || Prepare(once)[0].Content != once[0].Content {
		t.Error("the input changed, or a second time makes a difference")
	}
}

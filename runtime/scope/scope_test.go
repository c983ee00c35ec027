// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

func TestParse(t *testing.T) {
	const padded = " onebot : group : 42 "
	for text, want := range map[string]scope.Scope{
		"*": {}, "*:*": {}, "*:*:*": {}, ":group": {SessionType: "group"}, "onebot": {Platform: "onebot"},
		"onebot:group": {Platform: "onebot", SessionType: "group"}, padded: {Platform: "onebot", SessionType: "group", Target: "42"},
		"onebot::42": {Platform: "onebot", Target: "42"}, "d:channel:a:b:c": {Platform: "d", SessionType: "channel", Target: "a:b:c"},
	} {
		if got, err := scope.Parse(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "  ", strings.Repeat("x", 513)} {
		if got, err := scope.Parse(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	if got, err := scope.ParseAll([]string{"a:b, c:d", "*"}); err != nil || len(got) != 3 {
		t.Errorf("got %v, %v", got, err)
	}
	if got := scope.Split([]string{"a, b，c,,", " "}); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q", got)
	}
}

// TestClosest is trap 9 and the first edge of section 42: weights 4, 2 and 1, the platform first; the first of equals.
func TestClosest(t *testing.T) {
	place := scope.Place{Platform: "onebot", SessionType: "private", Target: "42"}
	group := scope.Place{Platform: "onebot", SessionType: "group", Target: "123"}
	for _, tc := range []struct {
		scopes []string
		place  scope.Place
		want   int
	}{
		{[]string{"*", "*:private", "onebot:private", "onebot:private:42"}, place, 3},
		{[]string{"*", "*:private", "onebot:private"}, place, 2},
		{[]string{"*", "*:private"}, place, 1},
		{[]string{"*"}, place, 0},
		{[]string{"onebot:private:43", "*:group"}, place, -1},
		{[]string{"*:group", "*:group:123", "onebot:*"}, group, 2},
		{[]string{"onebot:*:123", "onebot:group"}, group, 1},
		{[]string{"onebot:group", "onebot:group"}, group, 0},
		{nil, group, -1},
	} {
		scopes, err := scope.ParseAll(tc.scopes)
		if err != nil {
			t.Fatal(err)
		}
		if got := scope.Closest(scopes, tc.place); got != tc.want {
			t.Errorf("%v in %v: got %d", tc.place, tc.scopes, got)
		}
	}
}

func TestClosestIsClosest(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "*", "a", "b"})
	rapid.Check(t, func(t *rapid.T) {
		var scopes []scope.Scope
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			s, err := scope.Parse("*" + strings.Join([]string{part.Draw(t, "p"), part.Draw(t, "t"), part.Draw(t, "i")}, ":"))
			if err != nil {
				t.Fatal(err)
			}
			s.Platform = strings.TrimPrefix(s.Platform, "*")
			scopes = append(scopes, s)
		}
		p := scope.Place{Platform: part.Draw(t, "P"), SessionType: part.Draw(t, "T"), Target: part.Draw(t, "I")}
		got := scope.Closest(scopes, p)
		for i, s := range scopes {
			if s.Has(p) && (got < 0 || s.Weight() > scopes[got].Weight() || (s.Weight() == scopes[got].Weight() && i < got)) {
				t.Fatalf("%v in %v: got %d, %d is closer", p, scopes, got, i)
			}
		}
		if got >= 0 && !scopes[got].Has(p) {
			t.Fatalf("%v is not in %v", p, scopes[got])
		}
	})
}

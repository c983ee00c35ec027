// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func TestPrefix(t *testing.T) {
	for _, tc := range []struct {
		id         Identity
		want, fail string
	}{
		{Identity{"c", "n", "u"}, "aalis:{c/n/u}:", ""},
		{Identity{"", "n", "u"}, "", "identity.cluster: must not be empty"},
		{Identity{"c", "", "u"}, "", "identity.namespace: must not be empty"},
		{Identity{"c", "n", ""}, "", "identity.uid: must not be empty"},
		{Identity{"c", "n/m", "u"}, "", "identity.namespace: may not contain"},
		{Identity{"c", "n", "u}"}, "", "identity.uid: may not contain"},
	} {
		got, err := tc.id.Prefix()
		if got != tc.want || (err == nil) != (tc.fail == "") || err != nil && !strings.Contains(err.Error(), tc.fail) {
			t.Errorf("%+v: got %q, %v", tc.id, got, err)
		}
	}
}

func TestPrepare(t *testing.T) {
	if _, err := Prepare("", nil, 1); !errors.Is(err, ErrNoSession) {
		t.Errorf("got error %v", err)
	}
	in := []message.Message{{Content: "a\xff", Metadata: map[string]any{"m": map[string]any{"k": "v"}, "l": []string{"x"}, "s": map[string]string{"a": "b"}}}, {Timestamp: 5}}
	out, err := Prepare("s", in, 9)
	if err != nil || out[0].Content != "a\uFFFD" || out[0].Timestamp != 9 || out[1].Timestamp != 5 {
		t.Errorf("got %+v, %v", out, err)
	}
	in[0].Metadata["m"].(map[string]any)["k"] = "spoilt"
	in[0].Metadata["l"].([]string)[0] = "spoilt"
	in[0].Metadata["s"].(map[string]string)["a"] = "spoilt"
	if out[0].Metadata["m"].(map[string]any)["k"] != "v" || out[0].Metadata["l"].([]string)[0] != "x" || out[0].Metadata["s"].(map[string]string)["a"] != "b" {
		t.Error("the copy shares what can be changed")
	}
}

func TestFilters(t *testing.T) {
	q := Normalize(memory.Query{Limit: 1 << 30, ExcludeKinds: []string{"x"}, Platform: "p"})
	if q.Limit != memory.CrossSessionMaxLimit || len(q.Roles) != 2 {
		t.Errorf("got %+v", q)
	}
	m := message.Message{Role: message.RoleUser, Metadata: map[string]any{"platform": "p"}}
	if !Matches(q, "s", &m) {
		t.Error("a message that fits is left out")
	}
	m.Kind = "x"
	if Matches(q, "s", &m) || InRange(memory.Range{ExcludeKinds: []string{"x"}}, &m) {
		t.Error("an excluded kind is given")
	}
	if Limit(0, 7) != 7 || Limit(3, 7) != 3 {
		t.Error("limits")
	}
}

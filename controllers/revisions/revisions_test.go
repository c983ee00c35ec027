// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestNames(t *testing.T) {
	if got := Name(v1alpha1.KindPersona, "night-owl", 3); got != "aalis-persona-night-owl-3" {
		t.Errorf("name %s", got)
	}
	if got := Labels(v1alpha1.KindPlugin, "main"); got[v1alpha1.LabelRevisionKind] != "Plugin" || got[v1alpha1.LabelRevisionName] != "main" {
		t.Errorf("labels %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?`).Filter(func(s string) bool {
			return len(validation.IsDNS1123Subdomain(s)) == 0
		}).Draw(t, "name")
		number := rapid.Int64Min(1).Draw(t, "number")
		if bad := validation.IsDNS1123Subdomain(Name(v1alpha1.KindPersona, name, number)); len(bad) > 0 {
			t.Fatalf("name of %s: %v", name, bad)
		}
		if bad := validation.IsValidLabelValue(Labels(v1alpha1.KindPersona, name)[v1alpha1.LabelRevisionName]); len(bad) > 0 {
			t.Fatalf("label of %s: %v", name, bad)
		}
	})
	long := strings.Repeat("a", 252)
	if Name("Persona", long+"a", 1) == Name("Persona", long+"b", 1) {
		t.Error("two long names share one revision name")
	}
}

func TestContent(t *testing.T) {
	spec := v1alpha1.PluginSpec{
		Module: "llm-openai", Config: &runtime.RawExtension{Raw: []byte(`{"b": 9007199254740993, "a": {"y": 1.50, "x": []}}`)},
	}
	plugin := &v1alpha1.Plugin{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: spec}
	encode := func() (string, string) {
		c, err := Of(plugin)
		if err != nil {
			t.Fatal(err)
		}
		data, hash, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(data), hash
	}
	data, hash := encode()
	if want := `{"config":{"a":{"x":[],"y":1.50},"b":9007199254740993},"module":"llm-openai"}`; data != want {
		t.Errorf("encoded %s, want %s", data, want)
	}
	// The roll-out is not part of a revision, nor is the order of keys; a value is.
	plugin.Spec.Rollout = &v1alpha1.RolloutSpec{State: v1alpha1.RolloutStatePaused}
	plugin.Spec.Config.Raw = []byte(`{"a":{"x":[],"y":1.50},"b":9007199254740993}`)
	if _, again := encode(); again != hash {
		t.Error("a roll-out or the order of keys made another revision")
	}
	plugin.Spec.Config.Raw = []byte(`{"a":{"x":[],"y":1.50},"b":9007199254740992}`)
	if _, other := encode(); other == hash {
		t.Error("another value made no other revision")
	}
	back, err := Decode(v1alpha1.KindPlugin, []byte(data))
	if err != nil || back.Plugin.Module != "llm-openai" || back.Persona != nil {
		t.Errorf("decoded %+v, %v", back, err)
	}
	if _, err := Decode("Secret", nil); !errors.Is(err, ErrKind) {
		t.Errorf("a Secret has revisions: %v", err)
	}
	if _, err := Decode(v1alpha1.KindPersona, []byte("{")); err == nil {
		t.Error("read what is no JSON")
	}
	if _, err := Of(&corev1.Pod{}); !errors.Is(err, ErrKind) {
		t.Errorf("a Pod has revisions: %v", err)
	}
}

func history(hashes ...string) []Revision {
	var out []Revision
	for i, h := range hashes {
		out = append(out, Revision{Object: fmt.Sprintf("r%d", i+1), Number: int64(i + 1), Hash: h, Own: true})
	}
	return out
}

func TestSurplus(t *testing.T) {
	foreign := history("a", "b")
	foreign[1].Own = false
	cases := map[string]struct {
		list  []Revision
		inUse []int64
		want  []int64
	}{
		"few":                     {history("a", "b", "c"), nil, nil},
		"the oldest":              {history("a", "b", "c", "d", "e"), nil, []int64{1, 2}},
		"in use stay":             {history("a", "b", "c", "d", "e"), []int64{1, 3}, []int64{2, 4}},
		"all in use":              {history("a", "b", "c", "d"), []int64{1, 2, 3, 4}, nil},
		"moved to the front":      {history("a", "b", "a"), nil, []int64{1}},
		"moved, but still in use": {history("a", "b", "a"), []int64{1}, nil},
		"another object's":        {foreign, nil, nil},
		"nothing":                 {nil, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inUse := map[int64]bool{}
			for _, n := range c.inUse {
				inUse[n] = true
			}
			var got []int64
			for _, r := range Surplus(c.list, inUse, 3) {
				got = append(got, r.Number)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestSurplusProperties: what is in use and the newest stay, nothing goes twice, at most limit of what is free stay, and
// each content that goes for the limit is older than each free one that stays.
func TestSurplusProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 1, 20).Draw(t, "hashes")
		list := history(hashes...)
		inUse := map[int64]bool{}
		for _, n := range rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "in use") {
			inUse[n] = true
		}
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		gone := map[int64]bool{}
		for _, r := range Surplus(rapid.Permutation(list).Draw(t, "order"), inUse, limit) {
			if gone[r.Number] || inUse[r.Number] || r.Number == int64(len(list)) {
				t.Fatalf("revision %d may not go", r.Number)
			}
			gone[r.Number] = true
		}
		free := 0
		for n := int64(1); n < int64(len(list)); n++ {
			if !gone[n] && !inUse[n] {
				free++
			}
		}
		if left := len(list) - len(gone); left > limit && free > 0 {
			t.Fatalf("%d stay, %d of them free; the limit is %d", left, free, limit)
		}
	})
}

func TestLiveAndNewest(t *testing.T) {
	list := history("a", "b", "a")
	if Live(list, "a") != 3 || Live(list, "b") != 0 || Live(nil, "a") != 0 {
		t.Error("only the newest revision is that of the present spec")
	}
	foreign := append(history("a", "b", "a"), Revision{Number: 9, Hash: "z"})
	if Newest(foreign).Number != 3 || next(foreign) != 10 || Hash(foreign, 9) != "" || Hash(foreign, 2) != "b" {
		t.Error("a revision of an earlier object of the name counts for the next number, and for nothing else")
	}
	if d := cmp.Diff([]int64{1, 2, 3}, Numbers(foreign)); d != "" {
		t.Errorf("numbers (-want +got):\n%s", d)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
)

func (s *suite) keys(namespace string) string {
	s.Helper()
	list, err := s.b.ListMetadata(s.Context(), namespace)
	s.must(err)
	var out []string
	for _, e := range list {
		out = append(out, e.Key+"="+string(e.Data))
	}
	return strings.Join(out, " ")
}

func (s *suite) updatedAt(namespace, key string) int64 {
	s.Helper()
	list, err := s.b.ListMetadata(s.Context(), namespace)
	s.must(err)
	for _, e := range list {
		if e.Key == key {
			return e.UpdatedAt
		}
	}
	s.Fatalf("%s/%s is not listed", namespace, key)
	return 0
}

func (s *suite) metadata() {
	s.commit()
	s.want("empty", s.keys("n"), "")
	s.commit(put("n", "b", "1"), put("n", "a", "2"), put("n", "B", "4"), put("m", "a", "3"), memory.Op{Namespace: "n", Key: "none"})
	s.want("sorted by key", s.keys("n"), "B=4 a=2 b=1")
	s.want("other namespace", s.keys("m"), "a=3")
	first := s.updatedAt("n", "b")
	for range 3 {
		s.commit(put("n", "b", "1"))
		next := s.updatedAt("n", "b")
		if next <= first {
			s.Errorf("updatedAt did not grow: %d, then %d", first, next)
		}
		first = next
	}
	data := json.RawMessage("5")
	s.commit(memory.Op{Namespace: "n", Key: "b", Data: data}, memory.Op{Namespace: "n", Key: "a"})
	data[0] = '6'
	s.want("after a write and a deletion", s.keys("n"), "B=4 b=5")
	s.want("deleted", s.value("n", "a"), "")
	v, _, err := s.b.Metadata(s.Context(), "n", "b")
	s.must(err)
	v[0] = '7'
	s.want("a reader's change", s.value("n", "b"), "5")
	s.commit(put("n", "x", "1"), memory.Op{Namespace: "n", Key: "x"}, put("n", "y", "1"), put("n", "y", "2"))
	s.want("later ones win", s.value("n", "x")+s.value("n", "y"), "2")
	s.commit(memory.Op{Namespace: "n", Key: "B"}, memory.Op{Namespace: "n", Key: "b"}, memory.Op{Namespace: "n", Key: "y"})
	s.want("all deleted", s.keys("n"), "")
	s.commit(put("n", "null", "null"))
	s.want("null is a value", s.keys("n"), "null=null")
}

func (s *suite) badBatch() {
	s.commit(put("n", "there", "1"))
	for name, bad := range map[string]memory.Op{
		"no namespace": put("", "k", "1"),
		"no key":       put("n", "", "1"),
		"no JSON":      put("n", "k", "{"),
		"empty":        {Namespace: "n", Key: "k", Data: json.RawMessage{}},
		"too long":     put("n", "k", "\""+strings.Repeat("x", memory.MaxDataBytes)+"\""),
	} {
		err := s.b.CommitMetadata(s.Context(), []memory.Op{put("n", "good", "1"), {Namespace: "n", Key: "there"}, bad})
		if err == nil || !strings.Contains(err.Error(), "ops[2]") {
			s.Errorf("%s: got error %v, want one that names ops[2]", name, err)
		}
	}
	s.want("after bad batches", s.keys("n"), "there=1")
}

func (s *suite) atomic() {
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 100 {
			v := fmt.Sprint(i)
			if err := s.b.CommitMetadata(s.Context(), []memory.Op{put("n", "a", v), put("n", "b", v)}); err != nil {
				s.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 100 {
			list, err := s.b.ListMetadata(s.Context(), "n")
			if err != nil {
				s.Error(err)
			}
			if len(list) == 1 || len(list) == 2 && string(list[0].Data) != string(list[1].Data) {
				s.Errorf("saw half a batch: %v", list)
			}
		}
	})
	wg.Wait()
}

func (s *suite) clearAll() {
	s.must(s.b.ClearAll(s.Context()))
	s.say("a", "1", "2")
	s.say("b", "3")
	_, err := s.b.TrimHistory(s.Context(), "a", 1)
	s.must(err)
	s.commit(put("summary", "a", "1"), put("user:profile", "u", "2"))
	for _, state := range memory.StateNamespaces() {
		s.commit(put(state, "k", "9"))
	}
	s.must(s.b.ClearAll(s.Context()))
	s.want("messages", s.full("a", 0)+s.full("b", 0), "")
	across, err := s.b.RecentAcrossSessions(s.Context(), memory.Query{Limit: 10})
	s.must(err)
	s.want("across sessions", len(across), 0)
	s.want("metadata", s.keys("summary")+s.keys("user:profile"), "")
	for _, state := range memory.StateNamespaces() {
		s.want("state namespace "+state, s.keys(state), "k=9")
	}
	s.say("a", "again")
	s.want("goes on", s.live("a", 0), "again")
}

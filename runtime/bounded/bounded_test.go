// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
)

func TestTheLeastRecentlyUsedGoes(t *testing.T) {
	m := bounded.New[string, int](2, 0, nil)
	m.Set("a", 1)
	m.Set("b", 2)
	if v, ok := m.Get("a"); !ok || v != 1 {
		t.Fatalf("got %d, %t", v, ok)
	}
	m.Set("c", 3)
	if _, ok := m.Get("b"); ok || m.Len() != 2 {
		t.Error("b was used least recently and is still there")
	}
	m.Delete("a")
	m.Delete("none")
	if _, ok := m.Get("a"); ok {
		t.Error("a was deleted")
	}
	m.Clear()
	if m.Len() != 0 {
		t.Error("not cleared")
	}
	if got := m.Update("d", func(v int, ok bool) int { return v + 1 }); got != 1 {
		t.Errorf("got %d", got)
	}
	if got := m.Update("d", func(v int, ok bool) int { return v + 1 }); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestValuesAge(t *testing.T) {
	now := time.Unix(0, 0)
	m := bounded.New[string, int](0, time.Hour, func() time.Time { return now })
	m.Set("a", 1)
	now = now.Add(59 * time.Minute)
	if _, ok := m.Get("a"); !ok {
		t.Fatal("it is too young to go")
	}
	now = now.Add(59 * time.Minute)
	if _, ok := m.Get("a"); !ok {
		t.Fatal("reading did not refresh it")
	}
	now = now.Add(time.Hour)
	if _, ok := m.Get("a"); ok || m.Len() != 0 {
		t.Error("it is too old to stay")
	}
	m.Set("b", 1)
	m.Set("c", 1)
	if m.Len() != 1 {
		t.Error("a limit of 0 is 1")
	}
}

// TestAgainstAModel compares the map with a slow one.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		m := bounded.New[int, int](limit, 0, nil)
		model, order := map[int]int{}, []int{}
		use := func(k int) { order = append(slices.DeleteFunc(order, func(o int) bool { return o == k }), k) }
		for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
			k := rapid.IntRange(0, 6).Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				m.Set(k, i)
				if _, ok := model[k]; !ok && len(model) == limit {
					delete(model, order[0])
					order = order[1:]
				}
				model[k] = i
				use(k)
			case 1:
				got, ok := m.Get(k)
				want, wantOK := model[k]
				if got != want || ok != wantOK {
					t.Fatalf("get %d: %d %t, want %d %t", k, got, ok, want, wantOK)
				}
				if ok {
					use(k)
				}
			case 2:
				m.Delete(k)
				delete(model, k)
				order = slices.DeleteFunc(order, func(o int) bool { return o == k })
			}
			if m.Len() != len(model) {
				t.Fatalf("%d values, want %v", m.Len(), slices.Sorted(maps.Keys(model)))
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	m := bounded.New[int, int](3, time.Second, time.Now)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				m.Set(j%5, i)
				m.Get(j % 4)
				m.Update(j%3, func(v int, _ bool) int { return v + 1 })
				m.Delete(j % 2)
				if m.Len() > 3 {
					t.Error("over the limit")
				}
			}
		})
	}
	wg.Wait()
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

type (
	ctxt = context.Context
	card struct {
		Name string `json:"name"`
	}
)

var persona = kernel.NewSetting[card]("persona")

func set(key, raw string) func(*kernel.Config) {
	return func(c *kernel.Config) { c.Settings[key] = json.RawMessage(raw) }
}

func TestSettings(t *testing.T) {
	watch := func(k *kernel.Context, r *trace) func() {
		return persona.Watch(k, func(_ ctxt, v card, present bool) {
			if !present {
				r.add("absent")
				return
			}
			r.add("is " + v.Name)
		})
	}
	t.Run("watchers see the present value and each change", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t, kerneltest.WithSetting("persona", card{"owl"})), &trace{}
		off := watch(h.Root(), r)
		r.want(t, "is owl")
		h.Apply(set("persona", `{"name":"fox"}`))
		r.want(t, "is fox")
		h.Apply(set("other", `1`))
		h.Apply(set("persona", `{"name":"fox"}`))
		r.want(t)
		h.Apply(func(c *kernel.Config) { delete(c.Settings, "persona") })
		r.want(t, "absent")
		h.Apply(set("persona", `{"name":"cat"}`))
		r.want(t, "is cat")
		off()
		h.Apply(set("persona", `{"name":"dog"}`))
		r.want(t)
		if v, present, err := persona.Get(h.Root()); v.Name != "dog" || !present || err != nil {
			t.Errorf("get: %v, %v, %v", v, present, err)
		}
		if persona.Key() != "persona" {
			t.Errorf("key is %q", persona.Key())
		}
	}))
	t.Run("a value of the wrong shape changes nothing and is logged", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t, kerneltest.WithSetting("persona", 7)), &trace{}
		k := fork(t, h.Root(), "p")
		watch(k, r)
		r.want(t, "absent")
		wantLog(t, h, "WARN", "key=\"persona\"", "scope=\"aalis:p\"", "config.persona")
		h.Apply(set("persona", `{"name":"fox"}`))
		h.Apply(set("persona", `"broken"`))
		r.want(t, "is fox")
		if _, present, err := persona.Get(k); !present || err == nil {
			t.Errorf("get: %v, %v", present, err)
		}
		h.Apply(set("persona", "null"))
		r.want(t, "absent")
	}))
	t.Run("a panic in a watcher is logged and the next change is seen", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		persona.Watch(h.Root(), func(_ ctxt, v card, _ bool) {
			r.add(v.Name)
			if v.Name == "fox" {
				panic("no foxes")
			}
		})
		h.Apply(set("persona", `{"name":"fox"}`))
		h.Apply(set("persona", `{"name":"owl"}`))
		r.want(t, "", "fox", "owl")
		wantLog(t, h, "no foxes", "stack=")
	}))
	t.Run("a watcher goes with its context", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		watch(k, r)
		dispose(t, k)
		h.Apply(set("persona", `{"name":"fox"}`))
		r.want(t, "absent")
		watch(k, r)
		r.want(t)
		wantLog(t, h, "Ignored registration", "watch:persona")
	}))
	t.Run("a change made while a watcher runs is delivered after it", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		gate := make(chan struct{})
		entered := make(chan struct{}, 1)
		block := false
		persona.Watch(h.Root(), func(_ ctxt, v card, _ bool) {
			r.add(v.Name)
			if block {
				block = false
				entered <- struct{}{}
				<-gate
			}
		})
		block = true
		done := make(chan struct{})
		go func() { h.Apply(set("persona", `{"name":"1"}`)); close(done) }()
		<-entered
		go func() { persona.Watch(h.Root(), func(ctxt, card, bool) {}) }()
		settle()
		close(gate)
		<-done
		h.Apply(set("persona", `{"name":"2"}`))
		r.want(t, "", "1", "2")
	}))
}

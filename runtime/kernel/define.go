// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Define completes a module whose config is a struct: the schema comes from the struct's tags and the values of defaults
// (see package schema), and Apply decodes the config into a fresh C. It panics if the struct's tags are wrong, which is a
// programming error that the module's own conformance test finds.
func Define[C any](m Module, defaults C, apply func(k *Context, cfg C) error) Module {
	object, err := schema.Of(defaults)
	if err != nil {
		panic(fmt.Sprintf("module %s: %v", m.Name, err))
	}
	m.Config = object
	m.Apply = func(k *Context, cfg map[string]any) error {
		decoded, err := Decode(defaults, cfg)
		if err != nil {
			return err
		}
		return apply(k, decoded)
	}
	return m
}

// OnReconfigure is [Context.OnReconfigure] with decoded configs.
func OnReconfigure[C any](k *Context, fn func(ctx context.Context, before, after C) error) {
	k.OnReconfigure(func(ctx context.Context, before, after map[string]any) error {
		var zero C
		b, err := Decode(zero, before)
		if err != nil {
			return err
		}
		a, err := Decode(zero, after)
		if err != nil {
			return err
		}
		return fn(ctx, b, a)
	})
}

// Decode lays a config over defaults: objects are merged key by key, everything else is replaced, null means "not given".
// The result shares nothing with either. Unknown keys and values of the wrong type are errors.
func Decode[C any](defaults C, cfg map[string]any) (C, error) {
	var out C
	base, err := toMap(defaults)
	if err != nil {
		return out, fmt.Errorf("decoding config: %w", err)
	}
	merge(base, cfg)
	data, err := json.Marshal(base)
	if err != nil {
		return out, fmt.Errorf("decoding config: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		var zero C
		return zero, fmt.Errorf("decoding config: %w", err)
	}
	return out, nil
}

// toMap gives the JSON object of a value; numbers keep their digits.
func toMap(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	out := map[string]any{}
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s is no object: %w", reflect.TypeOf(v), err)
	}
	return out, nil
}

func merge(into, from map[string]any) {
	for key, v := range from {
		if v == nil {
			continue
		}
		if m, ok := v.(map[string]any); ok {
			if sub, ok := into[key].(map[string]any); ok {
				merge(sub, m)
				continue
			}
			sub := map[string]any{}
			merge(sub, m)
			into[key] = sub
			continue
		}
		into[key] = v
	}
}

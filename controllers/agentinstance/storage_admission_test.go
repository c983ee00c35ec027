// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestStorageAtAdmission: spec.storage is whole and consistent, and a volume stays what it is.
func TestStorageAtAdmission(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	redis := func(address string) map[string]any {
		return map[string]any{"type": "Redis", "redis": map[string]any{"address": address}}
	}
	for name, tc := range map[string]struct {
		storage map[string]any
		want    string
	}{
		"memory":          {map[string]any{"type": "Memory"}, ""},
		"defaulted":       {map[string]any{}, ""},
		"sqlite":          {map[string]any{"type": "SQLite", "size": "2Gi", "storageClassName": "x", "retention": "Delete"}, ""},
		"redis":           {redis("redis.databases.svc:6379"), ""},
		"redis, IPv6":     {redis("[2001:db8::1]:6379"), ""},
		"unknown":         {map[string]any{"type": "Mongo"}, "Unsupported value"},
		"redis without":   {map[string]any{"type": "Redis"}, "must be given with type Redis, and only then"},
		"redis elsewhere": {map[string]any{"redis": map[string]any{"address": "r"}}, "must be given with type Redis, and only then"},
		"redis URL":       {redis("redis://r:6379"), "must be host:port"},
		"size elsewhere":  {map[string]any{"type": "Memory", "size": "1Gi"}, "may only be given with type SQLite"},
		"size of nothing": {map[string]any{"type": "SQLite", "size": "0"}, "must be a quantity greater than 0"},
		"retention":       {map[string]any{"type": "SQLite", "retention": "Keep"}, "Unsupported value"},
	} {
		obj := written(ns, "AgentInstance", map[string]any{"storage": tc.storage})
		err := env.Client().Create(t.Context(), obj, client.DryRunAll)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		before, after map[string]any
		want          string
	}{
		"to redis":   {map[string]any{"type": "Memory"}, redis("r"), ""},
		"to sqlite":  {map[string]any{"type": "Memory"}, map[string]any{"type": "SQLite"}, "cannot change to or from SQLite"},
		"off sqlite": {map[string]any{"type": "SQLite"}, redis("r"), "cannot change to or from SQLite"},
		"size":       {map[string]any{"type": "SQLite", "size": "1Gi"}, map[string]any{"type": "SQLite", "size": "2Gi"}, "may not be changed"},
		"same size":  {map[string]any{"type": "SQLite", "size": "1Gi"}, map[string]any{"type": "SQLite", "size": "1024Mi"}, ""},
		"class":      {map[string]any{"type": "SQLite"}, map[string]any{"type": "SQLite", "storageClassName": "x"}, "may not be changed"},
		"retention":  {map[string]any{"type": "SQLite"}, map[string]any{"type": "SQLite", "retention": "Delete"}, ""},
	} {
		obj := written(ns, "AgentInstance", map[string]any{"storage": tc.before})
		obj.SetName(strings.ReplaceAll(name, " ", "-"))
		if err := env.Client().Create(t.Context(), obj); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		raw, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/storage", "value": tc.after}})
		if err != nil {
			t.Fatal(err)
		}
		err = env.Client().Patch(t.Context(), obj, client.RawPatch(types.JSONPatchType, raw), client.DryRunAll)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// shipped is a bot with the modules that the runtime ships.
func shipped(t *testing.T, spec string) Input {
	t.Helper()
	data, err := os.ReadFile("../../runtime/catalog/catalog.json")
	if err != nil {
		t.Fatal(err)
	}
	in := load(t, bot(spec))
	if in.Catalog, err = catalog.Decode(data); err != nil {
		t.Fatal(err)
	}
	return in
}

// The storage type decides the one memory backend of a bot and its config.
func TestStorage(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, module, address, secret string
	}{
		"default": {"{}", "memory-inmemory", "", ""},
		"sqlite":  {"{storage: {type: SQLite, size: 2Gi}}", "memory-sqlite", "", ""},
		"redis":   {"{storage: {type: Redis, redis: {address: 'r.db.svc:6379'}}}", "memory-redis", "redis://r.db.svc:6379", ""},
		"redis with TLS": {
			"{storage: {type: Redis, redis: {address: r, transport: TLS, passwordSecretRef: {name: s, key: k}}}}",
			"memory-redis", "rediss://r", "password s k",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compose(shipped(t, tc.spec))
			var backends []string
			for _, p := range r.Config.Plugins {
				short := strings.TrimPrefix(p.Module, "@aalis/plugin-")
				if !slices.Contains([]string{"memory-inmemory", "memory-sqlite", "memory-redis"}, short) {
					continue
				}
				backends = append(backends, short)
				if address, _ := p.Config["address"].(string); address != tc.address {
					t.Errorf("address %q, want %q", address, tc.address)
				}
				secret := ""
				for _, s := range p.Secrets {
					secret += s.Path + " " + s.Name + " " + s.Key
				}
				if secret != tc.secret {
					t.Errorf("secret %q, want %q", secret, tc.secret)
				}
			}
			if !slices.Equal(backends, []string{tc.module}) {
				t.Errorf("backends %v, want %s", backends, tc.module)
			}
		})
	}
}

func TestStorageProblems(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"another backend": {"{plugins: [{name: m, module: memory-sqlite}]}", "spec.storage.type decides which one the bot uses"},
		"redis by hand": {
			"{storage: {type: Redis, redis: {address: r}}, plugins: [{name: m, module: memory-redis, config: {address: x}}]}",
			"is configured by spec.storage.redis",
		},
		"no redis":       {"{storage: {type: Redis}}", "spec.storage.redis: must be given with type Redis"},
		"off is no harm": {"{plugins: [{name: m, module: memory-sqlite, state: Disabled}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compose(shipped(t, tc.spec))
			var errs []string
			for _, p := range r.Problems {
				if p.Severity == SeverityError {
					errs = append(errs, p.String())
				}
			}
			if got := strings.Join(errs, "\n"); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}

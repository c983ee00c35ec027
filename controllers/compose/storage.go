// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

const redisModule = "@aalis/plugin-memory-redis"

// storageModules says which module is the memory backend of a storage type.
var storageModules = map[v1alpha1.StorageType]string{
	v1alpha1.StorageMemory: "@aalis/plugin-memory-inmemory",
	v1alpha1.StorageSQLite: "@aalis/plugin-memory-sqlite",
	v1alpha1.StorageRedis:  redisModule,
}

// storageModule is the full name of the module that the storage type asks for.
func (c *composer) storageModule() string {
	typ := v1alpha1.StorageMemory
	if s := c.instance.Spec.Storage; s != nil && s.Type != "" {
		typ = s.Type
	}
	name, ok := storageModules[typ]
	if !ok {
		known := make([]string, 0, len(storageModules))
		for t := range maps.Keys(storageModules) {
			known = append(known, string(t))
		}
		slices.Sort(known)
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.storage.type", "must be one of %s, got %q", list(known), typ)
		return ""
	}
	if _, ok := c.in.Catalog.Lookup(name); !ok {
		c.bad(v1alpha1.ReasonUnknownModule, "spec.storage.type", "%s needs the module %s, which the runtime image does not ship", typ, name)
	}
	return name
}

// otherStorage reports whether a module is the backend of a storage type other than the chosen one.
func (c *composer) otherStorage(name, chosen string) bool {
	for _, m := range storageModules {
		if m == name {
			return name != chosen
		}
	}
	return false
}

// addStorage makes an entry what spec.storage says: the config of the chosen backend, and no other backend beside it.
func (c *composer) addStorage(e *entry, storage string) {
	switch {
	case e.disabled:
		return
	case e.listed && c.otherStorage(e.module.Name, storage):
		c.bad(v1alpha1.ReasonInvalidSpec, e.refPath, "module %s is a memory backend, and spec.storage.type decides which one the bot uses; set that instead", e.module.Name)
		return
	case e.module.Name != redisModule || storage != redisModule:
		return
	case e.listed:
		c.bad(v1alpha1.ReasonInvalidSpec, e.refPath, "module %s is configured by spec.storage.redis; remove this entry", e.module.Name)
		return
	}
	r := c.instance.Spec.Storage.Redis
	if r == nil {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.storage.redis", "must be given with type Redis")
		return
	}
	scheme := "redis://"
	if r.Transport == v1alpha1.RedisTLS {
		scheme = "rediss://"
	}
	// A URL, so that the NetworkPolicy finds the host in it.
	raw, err := json.Marshal(map[string]string{"address": scheme + r.Address})
	if err != nil {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.storage.redis.address", "cannot be written as JSON: %v", err)
		return
	}
	e.raw = &runtime.RawExtension{Raw: raw}
	if ref := r.PasswordSecretRef; ref != nil {
		e.secrets = []v1alpha1.PluginSecret{{Path: "password", SecretKeyRef: *ref}}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

const redisPort = "6379"

func (c *converter) isStorage(module string) bool {
	return slices.Contains([]string{sqliteModule, redisModule, inmemoryModule}, module)
}

// storage turns the memory backend of the highest priority that is not turned off into spec.storage.
func (c *converter) storage() {
	off := map[string]bool{}
	if ids, ok := c.config[keyDisabled].([]any); ok {
		for _, id := range ids {
			if text, isText := id.(string); isText {
				off[text] = true
			}
		}
	}
	for _, module := range []string{sqliteModule, redisModule, inmemoryModule} {
		for _, p := range c.plugins {
			if p.module.Name != module || module == inmemoryModule {
				continue // what is in memory needs no storage, and keeps its config
			}
			p.done = true
			switch {
			case off[p.id]:
			case c.bot.Spec.Storage != nil:
				c.note(p.path, "a bot has one memory backend, and it is %s; left out", c.bot.Spec.Storage.Type)
			case module == sqliteModule:
				c.sqlite(p)
			default:
				c.redis(p)
			}
		}
	}
	if p := c.byModule(inmemoryModule); p != nil && c.bot.Spec.Storage != nil {
		p.done = true
		c.note(p.path, "a bot has one memory backend, and it is %s; left out", c.bot.Spec.Storage.Type)
	}
	c.choosePersona()
}

func (c *converter) sqlite(p *plugin) {
	c.bot.Spec.Storage = &v1alpha1.StorageSpec{Type: v1alpha1.StorageSQLite}
	c.note(p.path, "became spec.storage: the bot gets a new volume of %s; the old database is not copied", v1alpha1.DefaultStorageSize)
	for _, key := range slices.Sorted(maps.Keys(p.config)) {
		c.note(p.path+"."+key, "the file's place is the operator's business; left out")
	}
}

func (c *converter) redis(p *plugin) {
	text, _ := first(p.config, "address", "url").(string)
	if !strings.Contains(text, "://") {
		text = "redis://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		c.note(p.path+".address", "must be host:port; left out, so that the bot keeps its memory in the process")
		return
	}
	spec := &v1alpha1.RedisSpec{Address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), redisPort))}
	if tls, ok := p.config["tls"].(bool); u.Scheme == "rediss" || ok && tls {
		spec.Transport = v1alpha1.RedisTLS
	}
	password, given := p.config["password"].(string)
	if inURL, ok := u.User.Password(); ok {
		password, given = inURL, true
	}
	if given {
		ref := c.secretKey(slug(c.bot.Name+"-redis", "secret", maxLabel), "password", password)
		spec.PasswordSecretRef = &ref
		c.note(p.path+".password", "is a secret: it is read from the key %s of the Secret %s, which you must create", ref.Key, ref.Name)
	}
	if u.User.Username() != "" || strings.Trim(u.Path, "/0") != "" {
		c.note(p.path+".address", "a user and a database number have no place in spec.storage.redis; left out")
	}
	for _, key := range slices.Sorted(maps.Keys(p.config)) {
		if !slices.Contains([]string{"address", "url", "tls", "password"}, key) {
			c.note(p.path+"."+key, "has no place in spec.storage.redis; left out")
		}
	}
	c.bot.Spec.Storage = &v1alpha1.StorageSpec{Type: v1alpha1.StorageRedis, Redis: spec}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memoryredis is the memory backend that keeps everything on a Redis server, where it outlives the pod and can
// be shared by bots: each bot's keys begin with its own prefix, made of its cluster, namespace and UID, and the plugin
// finds them by index sets under that prefix. It never lists or flushes a server.
//
// The agent, the archive and other plugins reach it by the service memory. Changes are Lua scripts, so that they happen
// whole or not at all, and carry a token, so that one that is repeated after a broken connection happens once. A server
// that is away, read-only or full makes calls fail with an error that says so; the bot stays up, and connections heal.
package memoryredis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// priority in the service memory: above the one in the process.
const priority = 5

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-memory-redis",
	DisplayName: "Redis memory",
	Summary:     "Keeps conversations on a Redis server.",
	Stability:   kernel.Beta,
	Provides:    []string{memory.Service.Name()},
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	options, err := cfg.options()
	if err != nil {
		return err
	}
	identity, _, err := store.IdentitySetting.Get(k)
	if err != nil {
		return err
	}
	prefix, err := identity.Prefix()
	if err != nil {
		return err
	}
	options.Dialer = dialer(netx.NewDialer(func() netx.Policy { return netx.PolicyOf(k) }), options.TLSConfig)
	b := newBackend(k.Now, prefix, options)
	k.OnDispose("connections", func(context.Context) error { return b.client.Close() })
	k.Go("look", func(ctx context.Context) { b.look(ctx, k.Logger()) })
	memory.Service.Provide(k, b, kernel.WithPriority(priority))
	return nil
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer adds TLS to a dialing function, which the client leaves to it.
func dialer(plain dial, secure *tls.Config) dial {
	if secure == nil {
		return plain
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := plain(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := tls.Client(conn, secure)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("tls to %s: %w", address, err), conn.Close())
		}
		return c, nil
	}
}

// newBackend makes a backend whose calls end in a bounded time: a few tries, each with its own limits.
func newBackend(now clock, prefix string, o *redis.Options) *backend {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, callTimeout, callTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = retries, firstBackoff, lastBackoff
	o.PoolSize, o.PoolTimeout = poolSize, poolTimeout
	o.DialerRetries = 1 // the call's own tries are enough
	o.DisableIdentity = true
	quiet()
	return &backend{now: now, client: redis.NewClient(o), keys: keys{prefix: prefix}, addr: o.Addr}
}

// quiet stops the client library from writing lines of its own to stderr, once: what goes wrong comes back as an error.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

// Printf implements the library's logger.
func (silence) Printf(context.Context, string, ...any) {}

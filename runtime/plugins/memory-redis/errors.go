// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The causes of a failed call that people can do something about.
var (
	errReadOnly = errors.New("the server is read-only (a replica, or it cannot save to its disk)")
	errFull     = errors.New("the server's memory is full")
	errLogin    = errors.New("the server does not take the user and password, or does not let the user do this")
	errAway     = errors.New("the server cannot be reached")
	errLoading  = errors.New("the server is starting and still loads its data")
)

// prefixes of what a server answers, and what they mean.
var prefixes = [...]struct {
	prefix string
	cause  error
}{
	{"READONLY", errReadOnly}, {"MISCONF", errReadOnly}, {"NOREPLICAS", errReadOnly},
	{"OOM", errFull},
	{"NOAUTH", errLogin}, {"WRONGPASS", errLogin}, {"NOPERM", errLogin}, {"ERR AUTH", errLogin},
	{"ERR Protocol error: unauthenticated", errLogin},
	{"LOADING", errLoading}, {"MASTERDOWN", errLoading}, {"CLUSTERDOWN", errLoading},
}

// explain says in words what is wrong with the server.
func (b *backend) explain(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redis %s: %w", b.addr, err)
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("redis %s: %w: %w", b.addr, errAway, err)
	}
	text := err.Error()
	for _, p := range prefixes {
		// A script's error carries that of the command in it.
		if strings.HasPrefix(text, p.prefix) || strings.Contains(text, "-"+p.prefix+" ") {
			return fmt.Errorf("redis %s: %w: %w", b.addr, p.cause, err)
		}
	}
	return fmt.Errorf("redis %s: %w", b.addr, err)
}

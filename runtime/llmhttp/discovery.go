// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// Times of the search for models.
const (
	discoveryTimeout = 15 * time.Second
	discoveryFirst   = time.Second     // wait after the first failure; doubles
	discoveryMost    = time.Minute     // longest wait while the server cannot be reached or fails
	discoveryRefused = 5 * time.Minute // longest wait while the server says that the request is wrong
	discoveryAgain   = 15 * time.Minute
)

// discover asks the server for its models until ctx ends. first is closed after the first attempt.
func (p *Provider) discover(ctx context.Context, first chan<- struct{}) {
	failures := 0
	for {
		err := p.discoverOnce(ctx)
		if first != nil {
			close(first)
			first = nil
		}
		if ctx.Err() != nil {
			return
		}
		wait := discoveryAgain
		if err != nil {
			failures++
			wait = discoveryWait(failures, err)
			p.logDiscovery(err, failures, wait)
		} else {
			if failures > 0 {
				p.k.Logger().Info("Server answers again", "host", p.ep.Host, "failures", failures)
			}
			failures = 0
		}
		if p.tools.Rest(ctx, p.spread(wait)) != nil {
			return
		}
	}
}

// discoverOnce takes over the server's list. When the server does not answer, the models known so far stay.
func (p *Provider) discoverOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	ids, err := p.backend.List(limited, p.ep)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return CheckModelID(id) != nil })
	if len(ids) == 0 {
		return errors.New("the server lists no chat model")
	}
	if ctx.Err() == nil {
		p.found(ids[:min(len(ids), MaxModels)])
	}
	return nil
}

// Refresh asks the server for its models now.
func (p *Provider) Refresh(ctx context.Context) (llm.Refreshed, error) {
	ctx, done := p.ep.Begin(ctx, p.backend.Common().Timeout)
	defer done()
	before := p.list()
	if err := p.discoverOnce(ctx); err != nil {
		failed, _ := p.explain(ctx, "", false, err)
		p.k.Logger().Warn("Models were not listed", "host", p.ep.Host, "error", p.ep.ForLog(err))
		return llm.Refreshed{}, failed
	}
	after := p.list()
	return llm.Refreshed{Added: without(after, before), Removed: without(before, after), Total: len(after)}, nil
}

// list gives the ids of the models of the config and the server.
func (p *Provider) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.backend.Common().Models.Custom)
	for _, id := range p.discovered {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func without(all, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(gone, id) })
}

func discoveryWait(failures int, err error) time.Duration {
	most := discoveryMost
	if s, ok := errors.AsType[*StatusError](err); ok && s.Status < http.StatusInternalServerError &&
		s.Status != http.StatusTooManyRequests {
		most = discoveryRefused
	}
	wait := discoveryFirst
	for range failures - 1 {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return wait
}

// spread takes a quarter off at random, so that many bots do not ask at the same moment.
func (p *Provider) spread(d time.Duration) time.Duration {
	return d - time.Duration(float64(d)/4*p.tools.Jitter())
}

// logDiscovery warns once while the bot has no model by this instance; everything else is of less interest.
func (p *Provider) logDiscovery(err error, failures int, wait time.Duration) {
	log := p.k.Logger().Debug
	switch {
	case failures == 1 && p.count.Load() == 0:
		log = p.k.Logger().Warn
	case failures == 1:
		log = p.k.Logger().Info
	}
	log("Models were not listed, asking again later", "host", p.ep.Host, "error", p.ep.ForLog(err), "within", wait)
}

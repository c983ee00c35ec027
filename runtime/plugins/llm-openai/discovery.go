// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"errors"
	"net/http"
	"time"
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
func (p *provider) discover(ctx context.Context, first chan<- struct{}) {
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
				p.k.Logger().Info("Server answers again", "host", p.ep.host, "failures", failures)
			}
			failures = 0
		}
		if p.tools.rest(ctx, p.spread(wait)) != nil {
			return
		}
	}
}

// discoverOnce takes over the server's list. When the server does not answer, the models known so far stay.
func (p *provider) discoverOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	ids, err := p.ep.models(limited)
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		p.found(ids)
	}
	return nil
}

func discoveryWait(failures int, err error) time.Duration {
	most := discoveryMost
	if s, ok := errors.AsType[*statusError](err); ok && s.status < http.StatusInternalServerError &&
		s.status != http.StatusTooManyRequests {
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
func (p *provider) spread(d time.Duration) time.Duration {
	return d - time.Duration(float64(d)/4*p.tools.jitter())
}

// logDiscovery warns once while the bot has no model by this instance; everything else is of less interest.
func (p *provider) logDiscovery(err error, failures int, wait time.Duration) {
	log := p.k.Logger().Debug
	switch {
	case failures == 1 && p.count.Load() == 0:
		log = p.k.Logger().Warn
	case failures == 1:
		log = p.k.Logger().Info
	}
	log("Models were not listed, asking again later", "host", p.ep.host, "error", p.forLog(err), "within", wait)
}

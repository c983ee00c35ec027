// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
)

// FieldManager is the owner of what the kernel writes.
const FieldManager = "aalis-kernel"

// writeInterval is the least time between two writes.
const writeInterval = time.Second

// writeTimeout bounds one write.
const writeTimeout = 10 * time.Second

// AcknowledgerOptions configure an Acknowledger. Client, Namespace, Name, Identity and Logger must be set.
type AcknowledgerOptions struct {
	Client *Client
	// Namespace and Name of the AgentReplica.
	Namespace, Name string
	Identity        Identity
	Logger          *slog.Logger
	// Now and Wait are the clock; nil means the real one.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error
}

// Acknowledger writes what a kernel says of itself to its AgentReplica: the first report at once, then at most one a
// second, always the newest, and none that would change nothing. What fails is tried again.
type Acknowledger struct {
	opts AcknowledgerOptions
	wake chan struct{}

	// These belong to the goroutine of Run.
	written []byte
	last    time.Time // of a write, tried or done
	failing bool
	retry   backoff

	mu     sync.Mutex
	newest *report.Snapshot
}

// NewAcknowledger makes an Acknowledger. It starts nothing.
func NewAcknowledger(o AcknowledgerOptions) *Acknowledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = sleep
	}
	return &Acknowledger{opts: o, wake: make(chan struct{}, 1), retry: backoff{wait: o.Wait}}
}

// Set leaves a report to be written. It never blocks.
func (a *Acknowledger) Set(s report.Snapshot) {
	a.mu.Lock()
	a.newest = &s
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends. It is called once.
func (a *Acknowledger) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
			if a.catchUp(ctx) != nil {
				return
			}
		}
	}
}

// catchUp writes the newest report, trying until that went well or ctx ends.
func (a *Acknowledger) catchUp(ctx context.Context) error {
	for {
		if wait := writeInterval - a.opts.Now().Sub(a.last); wait > 0 && !a.last.IsZero() {
			if err := a.opts.Wait(ctx, wait); err != nil {
				return err
			}
		}
		body, err := a.body()
		if err == nil && bytes.Equal(body, a.written) {
			return nil
		}
		if err == nil {
			a.last = a.opts.Now()
			err = a.write(ctx, body)
		}
		if err == nil {
			a.written, a.failing = body, false
			a.retry.reset()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.complain(err)
		if err := a.retry.pause(ctx); err != nil {
			return err
		}
	}
}

// complain tells the log of the first failure of a row, and of an object that is not there yet only in detail.
func (a *Acknowledger) complain(err error) {
	level := slog.LevelWarn
	if a.failing || hasCode(err, http.StatusNotFound) {
		level = slog.LevelDebug
	}
	a.failing = true
	a.opts.Logger.Log(context.Background(), level, "Acknowledgement was not written, trying again", "replica", a.opts.Name, "error", err)
}

// body is the newest report as the API server wants it.
func (a *Acknowledger) body() ([]byte, error) {
	a.mu.Lock()
	s := a.newest
	a.mu.Unlock()
	if s == nil {
		return nil, errors.New("there is no report")
	}
	apply := replicaApply{
		APIVersion: aalisv1alpha1.GroupVersion.String(),
		Kind:       aalisv1alpha1.KindAgentReplica,
		Metadata:   replicaMeta{Name: a.opts.Name, Namespace: a.opts.Namespace},
		Status:     statusOf(a.opts.Identity, *s),
	}
	body, err := json.Marshal(apply)
	if err != nil {
		return nil, fmt.Errorf("encoding the acknowledgement: %w", err)
	}
	return body, nil
}

// replicaApply is the object of a server-side apply: only what the kernel owns.
type replicaApply struct {
	APIVersion string                           `json:"apiVersion"`
	Kind       string                           `json:"kind"`
	Metadata   replicaMeta                      `json:"metadata"`
	Status     aalisv1alpha1.AgentReplicaStatus `json:"status"`
}

type replicaMeta struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

func (a *Acknowledger) write(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	resp, err := a.opts.Client.do(ctx, request{
		method: http.MethodPatch,
		path: "/apis/" + aalisv1alpha1.GroupVersion.String() + "/namespaces/" + url.PathEscape(a.opts.Namespace) +
			"/agentreplicas/" + url.PathEscape(a.opts.Name) + "/status",
		query:       url.Values{"fieldManager": {FieldManager}, "force": {"true"}},
		contentType: "application/apply-patch+yaml",
		body:        body,
	})
	if err != nil {
		return fmt.Errorf("writing the status of AgentReplica %s: %w", a.opts.Name, err)
	}
	// The answer is read to its end, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	return nil
}

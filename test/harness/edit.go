// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// EditWatch measures how long an edit of a Persona by somebody else takes to be live in a bot, with one clock: from
// the moment at which a watch shows the edit to that at which another shows the kernel's acknowledgement.
type EditWatch struct {
	persona, replica watch.Interface
	edited, live     chan moment
}

// moment is when something was seen, or why it was not.
type moment struct {
	at  time.Time
	err error
}

// WatchEdit starts to watch a Persona and the replica of a bot. The caller makes the edit next.
func (c *Cluster) WatchEdit(ctx context.Context, namespace, persona, name string) (*EditWatch, error) {
	p, err := c.Client.Watch(ctx, &aalisv1alpha1.PersonaList{}, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", persona)})
	if err != nil {
		return nil, fmt.Errorf("watching persona %s/%s: %w", namespace, persona, err)
	}
	r, err := c.Client.Watch(ctx, &aalisv1alpha1.AgentReplicaList{}, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", PodName(name))})
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("watching the replica of %s/%s: %w", namespace, name, err)
	}
	w := &EditWatch{persona: p, replica: r, edited: make(chan moment, 1), live: make(chan moment, 1)}
	first, err := nextReplica(ctx, r)
	if err != nil {
		w.Stop()
		return nil, err
	}
	generation, err := nextGeneration(ctx, p, 0)
	if err != nil {
		w.Stop()
		return nil, err
	}
	// Both are timed as they arrive, however late the caller asks.
	go func() {
		_, err := nextGeneration(ctx, p, generation)
		w.edited <- moment{time.Now(), err}
	}()
	go func() {
		err := nextRevision(ctx, r, first.Status.AppliedRevision)
		w.live <- moment{time.Now(), err}
	}()
	return w, nil
}

// Live waits for the edit and for its acknowledgement, and returns the time between the two.
func (w *EditWatch) Live(ctx context.Context) (time.Duration, error) {
	seen := make([]moment, 0, 2)
	for _, from := range []chan moment{w.edited, w.live} {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the edit to be live: %w", ctx.Err())
		case m := <-from:
			if m.err != nil {
				return 0, m.err
			}
			seen = append(seen, m)
		}
	}
	return seen[1].at.Sub(seen[0].at), nil
}

// Stop ends both watches.
func (w *EditWatch) Stop() {
	w.persona.Stop()
	w.replica.Stop()
}

// nextRevision waits until a replica runs another revision.
func nextRevision(ctx context.Context, w watch.Interface, before string) error {
	for {
		r, err := nextReplica(ctx, w)
		if err != nil {
			return err
		}
		if r.Status.AppliedRevision != before {
			return nil
		}
	}
}

func nextGeneration(ctx context.Context, w watch.Interface, after int64) (int64, error) {
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the edit: %w", ctx.Err())
		case e, ok := <-w.ResultChan():
			if !ok {
				return 0, fmt.Errorf("waiting for the edit: the watch ended")
			}
			if p, ok := e.Object.(*aalisv1alpha1.Persona); ok && p.Generation > after {
				return p.Generation, nil
			}
		}
	}
}

// ShortID gives a few random hexadecimal digits, for names that must not meet.
func ShortID() string {
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the system has no randomness: nothing sensible can follow
	}
	return hex.EncodeToString(b)
}

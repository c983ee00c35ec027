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
	before           string
	generation       int64
}

// WatchEdit starts to watch a Persona and the replica of a bot.
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
	w := &EditWatch{persona: p, replica: r}
	first, err := nextReplica(ctx, r)
	if err != nil {
		w.Stop()
		return nil, err
	}
	w.before = first.Status.AppliedRevision
	w.generation, err = nextGeneration(ctx, p, 0)
	if err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

// Live waits for the edit and for its acknowledgement, and returns the time between the two.
func (w *EditWatch) Live(ctx context.Context) (time.Duration, error) {
	if _, err := nextGeneration(ctx, w.persona, w.generation); err != nil {
		return 0, err
	}
	start := time.Now()
	for {
		r, err := nextReplica(ctx, w.replica)
		if err != nil {
			return 0, err
		}
		if r.Status.AppliedRevision != w.before {
			return time.Since(start), nil
		}
	}
}

// Stop ends both watches.
func (w *EditWatch) Stop() {
	w.persona.Stop()
	w.replica.Stop()
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

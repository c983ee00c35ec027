// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// start declares a bot and waits until it is ready.
func start(ctx context.Context, t *testing.T, b botParts) {
	t.Helper()
	must(t, cluster.Apply(ctx, b.namespace, b.all()))
	_, err := cluster.Until(ctx, b.namespace, b.name, harness.IsReady)
	must(t, err)
}

// ask asks a bot in a session of its own and wants an answer that holds each of the texts.
func ask(ctx context.Context, t *testing.T, b botParts, text string, want ...string) string {
	t.Helper()
	answer, err := cluster.Ask(ctx, b.namespace, b.name, "e2e-"+harness.ShortID(), text, io.Discard)
	must(t, err)
	for _, w := range want {
		if !strings.Contains(answer, w) {
			t.Fatalf("asked %q; want an answer with %q, got %q", text, w, answer)
		}
	}
	return answer
}

func restarts(ctx context.Context, t *testing.T, b botParts) int32 {
	t.Helper()
	n, err := cluster.Restarts(ctx, b.namespace, b.name)
	must(t, err)
	return n
}

// TestCreateToAnswer: a bot that exists only because of YAML answers, and remembers within a session.
func TestCreateToAnswer(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	ask(ctx, t, b, "good evening", "Night Owl", "good evening")
	inst, err := cluster.Bot(ctx, ns, b.name)
	must(t, err)
	if inst.Status.AppliedRevision == "" || inst.Status.AppliedRevision != inst.Status.Revision {
		t.Errorf("ready, but appliedRevision %q is not revision %q", inst.Status.AppliedRevision, inst.Status.Revision)
	}
	if want := "@aalis/plugin-llm-openai:main/gpt-4o-mini"; inst.Status.Model != want {
		t.Errorf("status.model: want %q, got %q", want, inst.Status.Model)
	}
	if inst.Status.LastRecompute == nil || len(inst.Status.Plugins) == 0 {
		t.Errorf("status must show the plugins and the last recompute, got %+v", inst.Status)
	}
	text, err := cluster.Metrics(ctx, ns, b.name)
	must(t, err)
	for _, kind := range []string{"prompt", "completion"} {
		if n, err := harness.Sum(text, "aalis_tokens_total", map[string]string{"type": kind, "persona": "night-owl"}); err != nil || n <= 0 {
			t.Errorf("aalis_tokens_total{type=%q} must have counted the answer, got %v, %v", kind, n, err)
		}
	}
}

// TestPersonaEditIsLive: an edit with kubectl is in effect within moments, in a pod that does not restart.
func TestPersonaEditIsLive(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)

	// A kernel acknowledges at most once a second, so edits that follow each other faster would measure that bound.
	pause := time.NewTicker(1200 * time.Millisecond)
	defer pause.Stop()
	var took []time.Duration
	for i := range size(20, 40) {
		<-pause.C
		d, err := cluster.EditPersona(ctx, ns, b.persona, b.name, strings.Repeat("calm ", i+1))
		must(t, err)
		took = append(took, d)
	}
	slices.Sort(took)
	median, p95 := took[len(took)/2], took[len(took)*95/100]
	t.Logf("edit to live over %d edits: median %s, p95 %s, all %v", len(took), median, p95, took)
	if median > time.Second {
		t.Errorf("edit to live: median %s; it must be live in about a second", median)
	}

	b.displayName = "Early Bird"
	must(t, cluster.Apply(ctx, ns, b.personaYAML()))
	_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	eventually(ctx, t, "the new name in answers", 10*time.Second, func(ctx context.Context) (bool, string) {
		answer, err := cluster.Ask(ctx, ns, b.name, "e2e-"+harness.ShortID(), "who are you?", io.Discard)
		return err == nil && strings.Contains(answer, "Early Bird"), answer
	})
	after, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	if after.UID != pod.UID || restarts(ctx, t, b) != 0 {
		t.Errorf("the pod must not restart for a persona: uid %s -> %s, %d restarts", pod.UID, after.UID, restarts(ctx, t, b))
	}
}

// TestPodKilledComesBack: a bot whose pod dies comes back by itself.
func TestPodKilledComesBack(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	before, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	_, err = cluster.Run(ctx, "", "delete", "pod", "-n", ns, harness.PodName(b.name), "--grace-period=0", "--force")
	must(t, err)
	eventually(ctx, t, "another pod", time.Minute, func(ctx context.Context) (bool, string) {
		pod, err := cluster.Pod(ctx, ns, b.name)
		if err != nil {
			return false, err.Error()
		}
		return pod.UID != before.UID, string(pod.UID)
	})
	_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	eventually(ctx, t, "an answer of the new pod", time.Minute, func(ctx context.Context) (bool, string) {
		answer, err := cluster.Ask(ctx, ns, b.name, "e2e-"+harness.ShortID(), "back again?", io.Discard)
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, "back again?"), answer
	})
}

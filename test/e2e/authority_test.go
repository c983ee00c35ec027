// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

const housePolicy = `apiVersion: aalis.dev/v1alpha1
kind: AuthorityPolicy
metadata: {name: house}
spec:
  selector: {}
  owners: [{platform: openai, userId: alice}]
  deniedCapabilities: [DENIED]
`

// trigger calls then once, when a text has gone by.
type trigger struct {
	text string
	then func()

	once sync.Once
	seen strings.Builder
}

func (w *trigger) Write(p []byte) (int, error) {
	w.seen.Write(p)
	if strings.Contains(w.seen.String(), w.text) {
		w.once.Do(func() { go w.then() })
	}
	return len(p), nil
}

// TestAuthority: a policy decides who may do what, an edit of it is in force within moments in a pod that does not restart,
// levels given in chat outlive the pod, and what must be confirmed waits for the person concerned.
func TestAuthority(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	b.more = "  storage: {type: SQLite, size: 64Mi}\n"
	policy := func(denied string) string { return strings.Replace(housePolicy, "DENIED", denied, 1) }
	must(t, cluster.Apply(ctx, ns, policy("tool:exec*")))
	start(ctx, t, b)
	say := func(person, text, want string) {
		t.Helper()
		answer, err := cluster.AskAs(ctx, ns, b.name, person, "e2e", text, io.Discard)
		must(t, err)
		if !strings.Contains(answer, want) {
			t.Errorf("%s says %q: want %q, got %q", person, text, want, answer)
		}
	}
	say("bob", "/level openai:bob 9", "Not permitted")
	say("bob", "/session", "needs level 1")
	say("alice", "/level openai:bob 1", "openai:bob has level 1 now")
	say("bob", "/session", "Model")

	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	began := time.Now()
	must(t, cluster.Apply(ctx, ns, policy(`"command:session"`)))
	eventually(ctx, t, "the denial", 20*time.Second, func(ctx context.Context) (bool, string) {
		answer, err := cluster.AskAs(ctx, ns, b.name, "alice", "e2e", "/session", io.Discard)
		return err == nil && strings.Contains(answer, "Switched off for everybody"), answer
	})
	t.Logf("a denial was in force %s after kubectl apply began", time.Since(began).Round(10*time.Millisecond))
	after, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	if after.UID != pod.UID || restarts(ctx, t, b) != 0 {
		t.Error("the pod must not restart for a policy")
	}

	for reply, want := range map[string]string{"n": "Cancelled", "Y": "cleared"} {
		answered := make(chan error, 1)
		answer, err := cluster.AskAs(ctx, ns, b.name, "alice", "e2e", "/clear", &trigger{text: "must be confirmed", then: func() {
			_, err := cluster.AskAs(ctx, ns, b.name, "alice", "e2e", reply, io.Discard)
			answered <- err
		}})
		must(t, err)
		must(t, <-answered)
		if !strings.Contains(answer, want) {
			t.Errorf("/clear answered with %s: want %q, got %q", reply, want, answer)
		}
	}

	_, err = cluster.Run(ctx, "", "delete", "pod", "-n", ns, harness.PodName(b.name), "--grace-period=0", "--force")
	must(t, err)
	eventually(ctx, t, "the level in another pod", 2*time.Minute, func(ctx context.Context) (bool, string) {
		now, err := cluster.Pod(ctx, ns, b.name)
		if err != nil || now.UID == pod.UID {
			return false, "the pod is not there yet"
		}
		answer, err := cluster.AskAs(ctx, ns, b.name, "bob", "e2e", "/authority", io.Discard)
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, "openai:bob: level 1 (given in chat)"), answer
	})

	said := kubectlAalis(ctx, t, 0, "authority", "can-i", "--user", "openai:alice", "command:clear", "-n", ns)
	if !strings.Contains(said, "yes, once it is confirmed - the person is an owner") {
		t.Errorf("got %s", said)
	}
	if said := kubectlAalis(ctx, t, 1, "authority", "can-i", "--user", "openai:alice", "command:session", "-n", ns); !strings.Contains(said, "deniedCapabilities") {
		t.Errorf("got %s", said)
	}
}

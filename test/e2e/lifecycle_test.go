// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// childKinds are all kinds of which the operator makes objects for a bot, and the pod that comes of them.
const childKinds = "statefulsets,pods,services,serviceaccounts,roles,rolebindings,configmaps,networkpolicies,agentreplicas"

// TestDeleteLeavesNothing: a deleted bot takes all of its objects with it.
func TestDeleteLeavesNothing(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	children := func(ctx context.Context) string {
		out, err := cluster.Run(ctx, "", "get", childKinds, "-n", ns, "-l", "aalis.dev/instance="+b.name, "-o", "name")
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out)
	}
	if got := strings.Count(children(ctx), "\n") + 1; got < 9 {
		t.Fatalf("want at least 9 children before, got %d: %s", got, children(ctx))
	}
	_, err := cluster.Run(ctx, "", "delete", "agentinstance", "-n", ns, b.name, "--timeout=60s")
	must(t, err)
	eventually(ctx, t, "no children", time.Minute, func(ctx context.Context) (bool, string) {
		left := children(ctx)
		return left == "", left
	})
}

// TestNamespacesAreApart: two bots of the same name live in two namespaces, each with its own persona, and neither's
// identity can read what is the other's, or anything else of its own namespace.
func TestNamespacesAreApart(t *testing.T) {
	ctx, nsA := newNamespace(t)
	_, nsB := newNamespace(t)
	withModel(ctx, t, nsA)
	withModel(ctx, t, nsB)
	a, b := newBot(nsA, "hello"), newBot(nsB, "hello")
	b.displayName = "Other Bird"
	start(ctx, t, a)
	start(ctx, t, b)
	ask(ctx, t, a, "who are you?", "Night Owl")
	ask(ctx, t, b, "who are you?", "Other Bird")

	who := "system:serviceaccount:" + nsA + ":aalis-hello"
	tests := []struct {
		verb, resource, namespace, want string
	}{
		{"get", "configmaps/aalis-hello", nsA, "yes"},
		{"get", "configmaps/other", nsA, "no"},
		{"list", "secrets", nsA, "no"},
		{"get", "secrets/llm", nsA, "no"},
		{"get", "personas/night-owl", nsA, "no"},
		{"patch", "agentreplicas/aalis-hello-0", nsA, "no"},
		{"get", "configmaps/aalis-hello", nsB, "no"},
		{"get", "agentreplicas/aalis-hello-0", nsB, "no"},
		{"create", "pods", nsA, "no"},
	}
	for _, tc := range tests {
		out, _ := cluster.Run(ctx, "", "auth", "can-i", tc.verb, tc.resource, "-n", tc.namespace, "--as", who)
		if got := strings.TrimSpace(out); got != tc.want {
			t.Errorf("can the bot of %s %s %s in %s? want %s, got %s", nsA, tc.verb, tc.resource, tc.namespace, tc.want, got)
		}
	}
	for ns, want := range map[string]string{nsA: "yes", nsB: "no"} {
		out, _ := cluster.Run(ctx, "", "auth", "can-i", "patch", "agentreplicas/aalis-hello-0", "--subresource=status", "-n", ns, "--as", who)
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("can the bot of %s report its status in %s? want %s, got %s", nsA, ns, want, got)
		}
	}
}

// TestOperatorHasNoVerbOnSecrets asks the cluster itself.
func TestOperatorHasNoVerbOnSecrets(t *testing.T) {
	ctx, ns := newNamespace(t)
	who := "system:serviceaccount:" + operatorNamespace + ":aalis-operator"
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
		out, _ := cluster.Run(ctx, "", "auth", "can-i", verb, "secrets", "-n", ns, "--as", who)
		if got := strings.TrimSpace(out); got != "no" {
			t.Errorf("can the operator %s Secrets? want no, got %s", verb, got)
		}
	}
	out, _ := cluster.Run(ctx, "", "auth", "can-i", "create", "pods/exec", "-n", ns, "--as", who)
	if got := strings.TrimSpace(out); got != "no" {
		t.Errorf("can the operator exec into pods? want no, got %s", got)
	}
}

// TestAnswersWhileTheAPIServerIsDown: a bot needs the API server to learn of changes, not to answer.
func TestAnswersWhileTheAPIServerIsDown(t *testing.T) {
	if !bare {
		t.Skip("stops the API server: only on the cluster of hack/cluster")
	}
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	url := "http://" + pod.Status.PodIP + ":8080/v1/chat/completions"
	askDirectly(ctx, t, url, "before")

	component(ctx, t, "stop", "kube-apiserver")
	t.Cleanup(func() { component(context.Background(), t, "start", "kube-apiserver") })
	down := time.Now()
	answers := 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for time.Since(down) < time.Duration(size(30, 60))*time.Second {
		askDirectly(ctx, t, url, "while it is down")
		answers++
		<-tick.C
	}
	component(ctx, t, "start", "kube-apiserver")
	t.Logf("%d of %d answers while the API server was down for %s", answers, answers, time.Since(down).Round(time.Second))

	var took time.Duration
	eventually(ctx, t, "an edit that is live again", 2*time.Minute, func(ctx context.Context) (bool, string) {
		var err error
		took, err = cluster.EditPersona(ctx, ns, b.persona, b.name, "calm "+harness.ShortID())
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	t.Logf("the first edit after it came back was live in %s", took)
	if n := restarts(ctx, t, b); n != 0 {
		t.Errorf("the pod must not restart because the API server is away, it restarted %d times", n)
	}
}

// askDirectly asks a bot at its address on the cluster's bridge, with no help of the API server.
func askDirectly(ctx context.Context, t *testing.T, url, text string) {
	t.Helper()
	askWith(ctx, t, &http.Client{Timeout: 10 * time.Second}, url, text)
}

// askWith is askDirectly with a client of one's own.
func askWith(ctx context.Context, t *testing.T, client *http.Client, url, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "hello", "messages": []map[string]string{{"role": "user", "content": text}}})
	must(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer token-of-alice")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(data), text) {
		t.Fatalf("asked %q directly; got %d: %s", text, resp.StatusCode, data)
	}
}

// component stops or starts one process of the cluster.
func component(ctx context.Context, t *testing.T, verb, name string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", "run", "./hack/cluster", "component", verb, name)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", verb, name, err, out)
	}
}

// lastKey is the hash of the key with which the model server was last called.
func lastKey(ctx context.Context, t *testing.T, ns string) string {
	t.Helper()
	out, err := cluster.Run(ctx, "", "get", "--raw", "/api/v1/namespaces/"+ns+"/services/fakellm:8080/proxy/admin/last")
	must(t, err)
	var entry struct {
		KeyHash string `json:"keyHash"`
	}
	must(t, json.Unmarshal([]byte(out), &entry))
	if entry.KeyHash == "" {
		t.Fatalf("the model server's ledger shows no key: %.300s", out)
	}
	return entry.KeyHash
}

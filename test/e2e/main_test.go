// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole path on a real cluster with real pods: make test-e2e brings the cluster up, installs the
// operator with the chart and runs it. Every test has a namespace of its own.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// operatorNamespace is where make deploy installs the operator.
const operatorNamespace = "aalis-system"

var (
	cluster   *harness.Cluster
	fakeImage string
	bare      = os.Getenv("CLUSTER") == "" || os.Getenv("CLUSTER") == "bare"
	full      = os.Getenv("AALIS_FULL") == "1"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("end-to-end tests need a cluster: not run with -short")
		return
	}
	kubeconfig, kubectl := os.Getenv("AALIS_E2E_KUBECONFIG"), os.Getenv("AALIS_E2E_KUBECTL")
	prefix, tag, ok := strings.Cut(os.Getenv("AALIS_E2E_IMAGES"), ":")
	if kubectl == "" || !ok {
		fmt.Fprintln(os.Stderr, "end-to-end tests need a cluster: run make test-e2e")
		os.Exit(1)
	}
	fakeImage = prefix + "/fakellm:" + tag
	var err error
	if cluster, err = harness.Connect(kubeconfig, kubectl); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// size is a number that the gate keeps small and make test-full has in full.
func size(gate, whole int) int {
	if full {
		return whole
	}
	return gate
}

// newNamespace makes a namespace with a model server and the Secrets of a bot, and removes it at the end.
func newNamespace(t *testing.T) (context.Context, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ns := "e2e-" + harness.ShortID()
	must(t, cluster.EnsureNamespace(ctx, ns))
	t.Cleanup(func() {
		cleanup, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if t.Failed() {
			logState(cleanup, t, ns)
		}
		if _, err := cluster.Run(cleanup, "", "delete", "namespace", ns, "--wait=false"); err != nil {
			t.Logf("removing the namespace: %v", err)
		}
	})
	return ctx, ns
}

// withModel adds the model server and the Secrets that the sample plugins name.
func withModel(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	must(t, cluster.Apply(ctx, ns, strings.ReplaceAll(fakellmManifest(t), "IMAGE", fakeImage)))
	must(t, cluster.PutSecret(ctx, ns, "llm", "api-key", "sk-e2e"))
	must(t, cluster.PutSecret(ctx, ns, "door", "tokens", "alice: token-of-alice\nbob: token-of-bob\n"))
	_, err := cluster.Run(ctx, "", "rollout", "status", "-n", ns, "deployment/fakellm", "--timeout=120s")
	must(t, err)
}

func fakellmManifest(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../hack/demo/fakellm.yaml")
	must(t, err)
	return string(data)
}

// logState prints what a person would look at first when a test has failed.
func logState(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "aalis,pods,agentreplicas", "-n", ns, "-o", "wide"},
		{"get", "agentinstances", "-n", ns, "-o", "yaml"},
		{"get", "events", "-n", ns},
		{"logs", "-n", ns, "-l", "app.kubernetes.io/managed-by=aalis-operator", "--tail=60"},
		{"logs", "-n", operatorNamespace, "deployment/aalis-operator", "--tail=60"},
	} {
		out, err := cluster.Run(ctx, "", args...)
		t.Logf("kubectl %s\n%s%v", strings.Join(args, " "), out, err)
	}
}

// operatorPod finds the operator's pod.
func operatorPod(ctx context.Context, t *testing.T) *corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	must(t, cluster.Client.List(ctx, pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": "aalis-operator"}))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp.IsZero() && pods.Items[i].Status.Phase == corev1.PodRunning {
			return &pods.Items[i]
		}
	}
	t.Fatal("the operator has no running pod")
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks again until done says so, or fails with what it said last.
func eventually(ctx context.Context, t *testing.T, what string, within time.Duration, done func(context.Context) (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		ok, said := done(ctx)
		if ok {
			return
		}
		if ctx.Err() == nil || last == "" {
			last = said
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s; last seen: %s", what, within, last)
		case <-tick.C:
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
	"github.com/aalis-dev/aalis-operator/test/harness"
)

// kubectlAalis runs a command of kubectl aalis and fails unless it ends with the status.
func kubectlAalis(ctx context.Context, t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := command.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, "e2e")
	root.SetArgs(append(args, "--kubeconfig", os.Getenv("AALIS_E2E_KUBECONFIG")))
	got, message := command.Exit(root.ExecuteContext(ctx))
	if got != code {
		t.Errorf("kubectl aalis %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), message)
	}
	return out.String() + message
}

// TestKubectlAalis: a bot that waits for its key is explained, given the key, seen at once, and read in its log.
func TestKubectlAalis(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	_, err := cluster.Run(ctx, "", "delete", "secret", "llm", "-n", ns)
	must(t, err)
	must(t, cluster.Apply(ctx, ns, b.all()))
	_, err = cluster.Until(ctx, ns, b.name, harness.HasReason("PluginPending"))
	must(t, err)

	said := kubectlAalis(ctx, t, 0, "explain", b.name, "-n", ns)
	for _, want := range []string{"is not Ready", "waiting for secret:llm/api-key", "aalis-hello-0   active", "Ready", "kubectl aalis reload hello"} {
		if !strings.Contains(said, want) {
			t.Errorf("explain has no %q:\n%s", want, said)
		}
	}
	must(t, cluster.PutSecret(ctx, ns, "llm", "api-key", "sk-e2e"))
	began := time.Now()
	kubectlAalis(ctx, t, 0, "reload", b.name, "-n", ns, "--wait", "--timeout", "90s")
	t.Logf("the key was seen %s after it was created", time.Since(began).Round(10*time.Millisecond))
	_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	t.Logf("explain says\n%s", kubectlAalis(ctx, t, 0, "explain", b.name, "-n", ns))

	_, err = cluster.Ask(ctx, ns, b.name, "one", "hello", io.Discard)
	must(t, err)
	said = kubectlAalis(ctx, t, 0, "usage", "-n", ns, "--by", "agent,persona,model", "--over", "hour")
	for _, want := range []string{"HOUR (UTC)", "hello", "night-owl", "gpt-4o-mini", "PROMPT"} {
		if !strings.Contains(said, want) {
			t.Errorf("usage has no %q:\n%s", want, said)
		}
	}

	log := kubectlAalis(ctx, t, 0, "logs", b.name, "-n", ns, "--replica", "0")
	if strings.TrimSpace(log) == "" {
		t.Error("the log is empty")
	}
	follow, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	if tail := kubectlAalis(follow, t, 0, "logs", b.name, "-n", ns, "-f", "--tail", "1"); strings.Count(tail, "\n") < 1 {
		t.Errorf("followed %q", tail)
	}
	if said := kubectlAalis(ctx, t, 1, "logs", b.name, "-n", ns, "--replica", "7"); !strings.Contains(said, "only aalis-hello-0") {
		t.Errorf("got %s", said)
	}
}

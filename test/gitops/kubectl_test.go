// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestKubectl: plain kubectl waits for bots, lists all kinds by one word and explains their fields.
func TestKubectl(t *testing.T) {
	ns := env.Namespace(t)
	node := env.StartNode(t, ns)
	node.Behave(t, testenv.Behaviour{Silent: true})
	env.StartOperator(t, []string{ns}, nil)
	kubeconfig := env.Administrator(t, "kubectl")
	kubectl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
			append(args, "--kubeconfig", kubeconfig, "--namespace", ns, "--cache-dir", t.TempDir())...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	f := newFamily(ns)
	env.Create(t, f.all()...)
	if out, err := kubectl("wait", "--for=condition=Ready", "agent/hello", "--timeout=2s"); err == nil {
		t.Errorf("kubectl wait is content before a kernel has reported: %s", out)
	}
	done := make(chan string, 1)
	go func() {
		out, err := kubectl("wait", "--for=condition=Ready", "agent/hello", "persona/owl", "plugin.aalis.dev/main", "--timeout=60s")
		if err != nil {
			out += err.Error()
		}
		done <- out
	}()
	node.Behave(t, testenv.Behaviour{})
	if out := <-done; strings.Count(out, "condition met") != 3 {
		t.Errorf("kubectl wait: %s", out)
	}
	becomes(t, current, f.all()...)
	out, err := kubectl("get", "aalis")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"agentinstance.aalis.dev/hello", "agentreplica.aalis.dev/aalis-hello-0", "authoritypolicy.aalis.dev/rules",
		"persona.aalis.dev/owl", "plugin.aalis.dev/main", "servicepreference.aalis.dev/cheap", "READY", "Active",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl get aalis shows no %q:\n%s", want, out)
		}
	}
	if out, err = kubectl("explain", "agents.spec.model.id"); err != nil || !strings.Contains(out, "id of the model at its provider") {
		t.Errorf("kubectl explain: %v: %s", err, out)
	}
}

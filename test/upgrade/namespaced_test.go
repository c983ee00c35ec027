// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

var namespaced testenv.Environment

// TestNamespacedOperator: with the Roles that the chart renders for two namespaces, and no ClusterRole, the operator makes,
// changes and removes bots there, and is forbidden nothing that it asks for.
func TestNamespacedOperator(t *testing.T) {
	t.Cleanup(func() { namespaced.Stop(t) })
	first, second, other := namespaced.Namespace(t), namespaced.Namespace(t), namespaced.Namespace(t)
	watched := []string{first, second}
	operator := namespaced.StartNamespacedOperator(t, watched, rolesFor(t, watched))
	for _, ns := range []string{first, second, other} {
		namespaced.StartNode(t, ns)
		namespaced.Create(t, testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl."), testenv.Instance(ns, "hello"))
	}
	for _, ns := range watched {
		bot := testenv.Instance(ns, "hello")
		testenv.WaitFor(t, &namespaced, bot, func(in *v1alpha1.AgentInstance) error {
			return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
		})
		if err := namespaced.Client().Delete(t.Context(), bot); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() error {
			if namespaced.Client().Get(t.Context(), testenv.Key(ns, "hello"), bot) == nil {
				return errors.New("the bot is still there")
			}
			return nil
		})
	}
	operator.Quiet(t)
	if denied := operator.Writes.Forbidden(); len(denied) > 0 {
		t.Errorf("the Roles forbid %v", denied)
	}
	foreign := testenv.Instance(other, "hello")
	namespaced.Refresh(t, foreign)
	if len(foreign.Status.Conditions) > 0 {
		t.Errorf("a bot of a namespace that is not watched was looked at: %+v", foreign.Status)
	}
}

// rolesFor gives the Roles that the chart renders for some namespaces.
func rolesFor(t *testing.T, namespaces []string) []rbacv1.Role {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "tool.sh"), "helm").Output()
	if err != nil {
		t.Fatalf("building helm: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), "template", release, chart,
		"--namespace", testenv.OperatorNamespace, "--set", "watchNamespaces={"+strings.Join(namespaces, ",")+"}",
		"--show-only", "templates/rbac.yaml").Output()
	if err != nil {
		t.Fatalf("rendering the chart: %v", err)
	}
	var roles []rbacv1.Role
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		var role rbacv1.Role
		err := reader.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if role.Kind == "Role" {
			roles = append(roles, role)
		}
	}
	if want := len(namespaces) + 2; len(roles) != want {
		t.Fatalf("%d Roles, want %d", len(roles), want)
	}
	return roles
}

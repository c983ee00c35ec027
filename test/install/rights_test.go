// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const operator = "aalis-operator"

// grant is a rule that the operator gets, and where: an empty namespace is the whole cluster.
type grant struct {
	namespace string
	rule      rbacv1.PolicyRule
}

// granted follows the bindings of the operator's account to the rules. The roles of the cluster itself are told by name.
func granted(t *testing.T, objects []unstructured.Unstructured) (grants []grant, foreign []string) {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, r := range all[rbacv1.ClusterRole](t, objects, "ClusterRole") {
		rules["ClusterRole//"+r.Name] = r.Rules
	}
	for _, r := range all[rbacv1.Role](t, objects, "Role") {
		rules["Role/"+r.Namespace+"/"+r.Name] = r.Rules
	}
	add := func(ns string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == operator }) {
			return
		}
		key := "ClusterRole//" + ref.Name
		if ref.Kind == "Role" {
			key = "Role/" + ns + "/" + ref.Name
		}
		found, ok := rules[key]
		if !ok {
			foreign = append(foreign, ref.Name)
		}
		for _, r := range found {
			grants = append(grants, grant{ns, r})
		}
	}
	for _, b := range all[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
		add("", b.RoleRef, b.Subjects)
	}
	for _, b := range all[rbacv1.RoleBinding](t, objects, "RoleBinding") {
		add(b.Namespace, b.RoleRef, b.Subjects)
	}
	return grants, foreign
}

// tooMuch says what of a rule the operator must never have.
func tooMuch(r rbacv1.PolicyRule) error {
	for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs, r.NonResourceURLs} {
		for _, word := range list {
			if strings.Contains(word, "*") {
				return fmt.Errorf("a wildcard in %v", r)
			}
		}
	}
	for _, resource := range r.Resources {
		kind, sub, _ := strings.Cut(resource, "/")
		if kind == "secrets" || kind == "pods" && sub != "" || resource == "serviceaccounts/token" {
			return fmt.Errorf("the resource %s in %v", resource, r)
		}
	}
	for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
		if slices.Contains(r.Verbs, verb) {
			return fmt.Errorf("the verb %s in %v", verb, r)
		}
	}
	return nil
}

// TestOperatorRights: in no profile has the operator a verb on Secrets, on what is inside pods, or a wildcard.
func TestOperatorRights(t *testing.T) {
	for name, args := range profiles {
		t.Run(name, func(t *testing.T) {
			grants, foreign := granted(t, mustTemplate(t, args...))
			if len(grants) < 10 {
				t.Errorf("the operator has only %d rules", len(grants))
			}
			for _, g := range grants {
				if err := tooMuch(g.rule); err != nil {
					t.Errorf("namespace %q: %v", g.namespace, err)
				}
			}
			for _, role := range foreign {
				if role != "system:auth-delegator" {
					t.Errorf("bound to the cluster's role %s", role)
				}
			}
		})
	}
}

// TestTooMuch: the check itself finds what it looks for.
func TestTooMuch(t *testing.T) {
	for _, r := range []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
		{APIGroups: []string{"*"}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"escalate"}},
		{NonResourceURLs: []string{"/metrics/*"}, Verbs: []string{"get"}},
	} {
		if tooMuch(r) == nil {
			t.Errorf("%v is let through", r)
		}
	}
	if err := tooMuch(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}); err != nil {
		t.Error(err)
	}
}

// TestNamespacedInstall: with watchNamespaces the operator has the same rules, but only there and nothing over the cluster.
func TestNamespacedInstall(t *testing.T) {
	whole, _ := granted(t, mustTemplate(t))
	parts, _ := granted(t, mustTemplate(t, "--set", "watchNamespaces={team-a,team-b}"))
	rulesOf := func(grants []grant, ns string) []rbacv1.PolicyRule {
		var out []rbacv1.PolicyRule
		for _, g := range grants {
			if g.namespace == ns {
				out = append(out, g.rule)
			}
		}
		return out
	}
	if over := rulesOf(parts, ""); len(over) > 0 {
		t.Errorf("rules over the cluster: %v", over)
	}
	for _, ns := range []string{"team-a", "team-b"} {
		if diff := cmp.Diff(rulesOf(whole, ""), rulesOf(parts, ns)); diff != "" {
			t.Errorf("rules in %s (-whole cluster +namespace):\n%s", ns, diff)
		}
	}
	for _, ns := range []string{namespace, "default"} {
		if diff := cmp.Diff(rulesOf(whole, ns), rulesOf(parts, ns)); diff != "" {
			t.Errorf("rules in %s (-whole cluster +namespace):\n%s", ns, diff)
		}
	}
}

// TestClusterScopedRules: a rule on what is in no namespace does not vanish in a Role that could not grant it.
func TestClusterScopedRules(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	const role = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: aalis-operator}
rules:
- {apiGroups: [""], resources: [namespaces, pods], verbs: [list, watch]}
`
	if err := os.WriteFile(filepath.Join(dir, "files", "role.yaml"), []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := template(t, dir, "--set", "watchNamespaces={team-a}")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := granted(t, objects)
	rule := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list", "watch"}}
	}
	want := []grant{{"", rule("namespaces")}, {"team-a", rule("pods")}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(grant{})); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestPeoplesRoles: the roles for people add up as the cluster's own do, and only admin reaches TenantPolicies.
func TestPeoplesRoles(t *testing.T) {
	may := map[string]map[string][]string{"view": {}, "edit": {}, "admin": {}}
	for _, r := range all[rbacv1.ClusterRole](t, mustTemplate(t), "ClusterRole") {
		for who := range may {
			if r.Labels["rbac.authorization.k8s.io/aggregate-to-"+who] != "true" {
				continue
			}
			for _, rule := range r.Rules {
				if err := tooMuch(rule); err != nil && !strings.Contains(err.Error(), "deletecollection") {
					t.Errorf("%s: %v", r.Name, err)
				}
				for _, resource := range rule.Resources {
					may[who][resource] = slices.Concat(may[who][resource], rule.Verbs)
				}
			}
		}
	}
	read, write := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	both := slices.Concat(read, write)
	kinds := []string{"agentinstances", "plugins", "personas", "servicepreferences", "authoritypolicies"}
	want := map[string]map[string][]string{"view": {}, "edit": {}, "admin": {}}
	for who := range want {
		want[who]["agentreplicas"] = read
		for _, kind := range kinds {
			want[who][kind] = both
			if who == "view" {
				want[who][kind] = read
			}
		}
	}
	want["admin"]["tenantpolicies"] = both
	for _, kinds := range []map[string]map[string][]string{may, want} {
		for _, verbs := range kinds {
			for kind := range verbs {
				verbs[kind] = slices.Sorted(slices.Values(verbs[kind]))
			}
		}
	}
	if diff := cmp.Diff(want, may); diff != "" {
		t.Errorf("rights of people (-want +got):\n%s", diff)
	}
}

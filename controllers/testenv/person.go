// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/controllers/render"
)

// Person makes a user with a role of a namespace, view or edit, as the cluster's own roles and what the chart adds to them
// give it, and writes a kubeconfig for it. It gives the file's path.
func (e *Environment) Person(t testing.TB, namespace, role string) string {
	t.Helper()
	name := role + "-of-" + namespace
	path := e.addUser(t, envtest.User{Name: name})
	granted := []string{"view"}
	if role != "view" {
		granted = append(granted, role)
	}
	shipped := e.aggregated(t)
	for _, r := range granted {
		// Nothing aggregates roles here, so that the parts are granted instead.
		parts := append([]string{"system:aggregate-to-" + r}, shipped[r]...)
		for _, part := range parts {
			e.Create(t, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "person-"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: part},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
			})
		}
	}
	return path
}

// aggregated creates the ClusterRoles that the install manifest adds to those of the cluster, and gives their names by what
// they are added to.
func (e *Environment) aggregated(t testing.TB) map[string][]string {
	t.Helper()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "config", "default", "install.yaml"))
	if err != nil {
		t.Fatalf("reading the install manifest: %v", err)
	}
	out := map[string][]string{}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("reading the install manifest: %v", err)
		}
		var role rbacv1.ClusterRole
		if sigsyaml.Unmarshal(document, &role) != nil || role.Kind != "ClusterRole" {
			continue // a document of another kind need not decode
		}
		added := false
		for _, to := range []string{"view", "edit", "admin"} {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] == "true" {
				out[to] = append(out[to], role.Name)
				added = true
			}
		}
		if !added {
			continue
		}
		if err := e.client.Create(t.Context(), &role); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("creating ClusterRole %s: %v", role.Name, err)
		}
	}
}

// Kernel is a client that may do what the pods of a bot may: it acts as the bot's ServiceAccount.
func (e *Environment) Kernel(t testing.TB, namespace, bot string) client.Client {
	t.Helper()
	e.Start(t)
	config := rest.CopyConfig(e.admin)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + render.ChildName(bot),
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	c, err := client.New(config, client.Options{Scheme: e.client.Scheme()})
	if err != nil {
		t.Fatalf("making the client of the kernel of %s: %v", bot, err)
	}
	return c
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Administrator makes a user with every right and writes a kubeconfig for it, for programs of others that a test runs. It
// gives the file's path.
func (e *Environment) Administrator(t testing.TB, name string) string {
	t.Helper()
	return e.addUser(t, envtest.User{Name: name, Groups: []string{"system:masters"}})
}

// addUser makes a user and writes a kubeconfig for it. It gives the file's path.
func (e *Environment) addUser(t testing.TB, who envtest.User) string {
	t.Helper()
	e.Start(t)
	user, err := e.server.AddUser(who, nil)
	if err != nil {
		t.Fatalf("adding the user %s: %v", who.Name, err)
	}
	config, err := user.KubeConfig()
	if err != nil {
		t.Fatalf("writing the kubeconfig of %s: %v", who.Name, err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatalf("writing the kubeconfig of %s: %v", who.Name, err)
	}
	return path
}

// InstallCRDs adds definitions of others to the control plane.
func (e *Environment) InstallCRDs(t testing.TB, options envtest.CRDInstallOptions) {
	t.Helper()
	e.Start(t)
	if _, err := envtest.InstallCRDs(e.admin, options); err != nil {
		t.Fatalf("installing CRDs: %v", err)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/aalis-dev/aalis-operator/controllers"
)

// assetsVariable names the folder with etcd and kube-apiserver.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Environment is the control plane of one test package. The zero value is ready; declare one in the package's tests and
// call Run from TestMain. It starts with the first test that needs it.
type Environment struct {
	// NoCRDs leaves the kinds of aalis.dev to the tests to install.
	NoCRDs bool

	once sync.Once
	err  error

	server   *envtest.Environment
	admin    *rest.Config
	operator *rest.Config
	client   client.WithWatch
}

// Run runs the tests of the package and stops the control plane. Its result is for os.Exit.
func (e *Environment) Run(m *testing.M) int {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if err := e.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
		return max(code, 1)
	}
	return code
}

// Stop stops the control plane of a test that has one of its own.
func (e *Environment) Stop(t testing.TB) {
	t.Helper()
	if err := e.stop(); err != nil {
		t.Errorf("stopping the control plane: %v", err)
	}
}

func (e *Environment) stop() error {
	if e.server == nil {
		return nil
	}
	return e.server.Stop()
}

// Start makes sure that the control plane runs. Without its binaries the test fails, or is skipped with -short.
func (e *Environment) Start(t testing.TB) {
	t.Helper()
	if os.Getenv(assetsVariable) == "" {
		const text = assetsVariable + " must name a folder with etcd and kube-apiserver: go run ./hack/cluster binaries --only envtest prints one"
		if testing.Short() {
			t.Skip(text)
		}
		t.Fatal(text)
	}
	e.once.Do(func() { e.err = e.start() })
	if e.err != nil {
		t.Fatalf("starting the control plane: %v", e.err)
	}
}

func (e *Environment) start() error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	var crds []string
	if !e.NoCRDs {
		crds = append(crds, filepath.Join(root, "config", "crd", "bases"))
	}
	e.server = &envtest.Environment{
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	// There may be no default route to find an address by; loopback may not be advertised.
	e.server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	if e.admin, err = e.server.Start(); err != nil {
		return err
	}
	e.admin.QPS = -1
	scheme, err := controllers.NewScheme()
	if err != nil {
		return err
	}
	if e.client, err = client.NewWithWatch(e.admin, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making the client of the tests: %w", err)
	}
	user, err := e.server.AddUser(envtest.User{Name: operatorUser}, nil)
	if err != nil {
		return fmt.Errorf("adding the operator's user: %w", err)
	}
	e.operator = user.Config()
	return e.grant(context.Background(), filepath.Join(root, "config", "rbac", "role.yaml"))
}

// repositoryRoot finds the repository by the place of this file.
func repositoryRoot() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("finding the repository: no caller information")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

// Client is a client with every right.
func (e *Environment) Client() client.WithWatch { return e.client }

// Namespace makes a namespace for a test. Its pods are held to the Pod Security level restricted.
func (e *Environment) Namespace(t testing.TB) string {
	t.Helper()
	e.Start(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "test-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := e.client.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return ns.Name
}

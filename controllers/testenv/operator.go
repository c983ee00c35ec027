// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// RuntimeImage is the image of the runtime in tests.
const RuntimeImage = "registry.example/aalis:test"

// verboseVariable makes the operator's log part of the test's.
const verboseVariable = "AALIS_TEST_LOG"

// Operator is a running manager.
type Operator struct {
	// Writes counts its requests that write.
	Writes *Writes

	cancel  context.CancelFunc
	elected <-chan struct{}
	done    chan error
	once    sync.Once
}

// OperatorNamespace is the namespace that the shipped role has the Lease in.
const OperatorNamespace = "aalis-system"

// StartOperator starts the operator for some namespaces, all if none is named, waits until it works and stops it with the
// test. Adjust, if not nil, changes its options.
func (e *Environment) StartOperator(t testing.TB, namespaces []string, adjust func(*controllers.Options)) *Operator {
	t.Helper()
	o := e.StartOperatorUnelected(t, namespaces, adjust)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !o.Elected(ctx) {
		t.Fatal("the operator did not become the leader")
	}
	return o
}

// Elected waits until the operator leads and tells whether it does.
func (o *Operator) Elected(ctx context.Context) bool {
	select {
	case <-o.elected:
		return true
	case <-ctx.Done():
		return false
	}
}

// StartOperatorUnelected is StartOperator for one that may have to wait for another.
func (e *Environment) StartOperatorUnelected(t testing.TB, namespaces []string, adjust func(*controllers.Options)) *Operator {
	t.Helper()
	e.Start(t)
	return e.startOperatorAs(t, e.operator, namespaces, adjust)
}

func (e *Environment) startOperatorAs(t testing.TB, user *rest.Config, namespaces []string, adjust func(*controllers.Options)) *Operator {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatalf("reading the catalog: %v", err)
	}
	o := &Operator{Writes: newWrites(), done: make(chan error, 1)}
	config := rest.CopyConfig(user)
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return o.Writes.wrap(next) }
	opts := controllers.Options{
		Catalog:            cat,
		Render:             render.Options{RuntimeImage: RuntimeImage, AllowedImages: []string{"registry.example/*"}},
		Namespaces:         namespaces,
		MetricsAddress:     "0",
		HealthAddress:      "0",
		Registry:           prometheus.NewRegistry(),
		Now:                time.Now,
		Logger:             logr.Discard(),
		SkipNameValidation: true,
	}
	if os.Getenv(verboseVariable) != "" {
		opts.Logger = testr.NewWithInterface(t, testr.Options{Verbosity: 1})
	}
	if adjust != nil {
		adjust(&opts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	mgr, err := controllers.NewManager(ctx, config, opts)
	if err != nil {
		cancel()
		t.Fatalf("making the operator: %v", err)
	}
	o.elected = mgr.Elected()
	go func() { o.done <- mgr.Start(ctx) }()
	t.Cleanup(func() { o.Stop(t) })
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the operator's cache did not sync")
	}
	return o
}

// Stop stops the operator and waits until it has. It does nothing the second time.
func (o *Operator) Stop(t testing.TB) {
	t.Helper()
	o.once.Do(func() {
		o.cancel()
		if err := <-o.done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the operator ended with: %v", err)
		}
	})
}

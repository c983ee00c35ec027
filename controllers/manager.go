// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/agentinstance"
	"github.com/aalis-dev/aalis-operator/controllers/authoritypolicy"
	"github.com/aalis-dev/aalis-operator/controllers/fleetmetrics"
	"github.com/aalis-dev/aalis-operator/controllers/persona"
	"github.com/aalis-dev/aalis-operator/controllers/plugin"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/revisions"
	"github.com/aalis-dev/aalis-operator/controllers/servicepreference"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
	"github.com/aalis-dev/aalis-operator/controllers/tenantpolicy"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// The timings of the leader election. The lease outlives a restart of the API server: bots do not depend on the
// operator, so a slow handover costs less than an operator that gives up too early.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 50 * time.Second
	retryPeriod   = 5 * time.Second

	leaderElectionID = "aalis-operator"
)

// reconcileTimeout bounds one pass: it holds a worker while the API server does not answer.
const reconcileTimeout = 30 * time.Second

// DefaultConcurrency is how many objects of one kind are reconciled at a time. The work is short and the cache is
// shared; more workers only wait for each other.
const DefaultConcurrency = 3

// Options of the operator.
type Options struct {
	// Catalog of the modules in the runtime image.
	Catalog catalog.Catalog
	// Render holds the images and name servers for the child objects.
	Render render.Options
	// Namespaces to watch; all if empty.
	Namespaces []string
	// Concurrency per kind; DefaultConcurrency if 0.
	Concurrency int
	// MetricsAddress and HealthAddress to serve on; "0" serves nothing.
	MetricsAddress, HealthAddress string
	// MetricsSecure serves metrics over TLS, to those who may get the path /metrics.
	MetricsSecure bool
	// LeaderElection lets only one of several operators work. Its Lease is in LeaderElectionNamespace, by default the
	// pod's own.
	LeaderElection          bool
	LeaderElectionNamespace string
	// Identity of this operator in its Lease, for example the pod's name. A process that starts again in the same pod
	// takes its own Lease up at once, since the one before it is gone. Random if empty.
	Identity string
	// Registry takes the operator's own metrics.
	Registry prometheus.Registerer
	// Logger of the manager and the reconcilers.
	Logger logr.Logger
	// Now reads the clock.
	Now func() time.Time
	// PassingAfter is how long a passing state must last before it is written; a second if 0.
	PassingAfter time.Duration
	// SkipNameValidation allows several managers in one process.
	SkipNameValidation bool
	// WrapClient, if not nil, wraps the client of the reconcilers.
	WrapClient func(client.Client) client.Client
}

// NewManager makes a manager with every reconciler. The caller starts it.
func NewManager(ctx context.Context, config *rest.Config, opts Options) (manager.Manager, error) {
	if opts.Render.RuntimeImage == "" {
		return nil, errors.New("setting up the operator: the runtime image must be given")
	}
	if opts.Now == nil || opts.Registry == nil {
		return nil, errors.New("setting up the operator: the clock and the registry of metrics must be given")
	}
	if opts.Concurrency == 0 {
		opts.Concurrency = DefaultConcurrency
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's priority and fairness is the limit
	lock, err := newLease(config, opts)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               cacheOptions(opts.Namespaces),
		NewClient:                           newClient(opts.WrapClient),
		Logger:                              opts.Logger,
		Metrics:                             metricsOptions(opts),
		HealthProbeBindAddress:              opts.HealthAddress,
		LeaderElection:                      opts.LeaderElection,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       ptr(leaseDuration),
		RenewDeadline:                       ptr(renewDeadline),
		RetryPeriod:                         ptr(retryPeriod),
		Controller: ctrlconfig.Controller{
			MaxConcurrentReconciles: opts.Concurrency,
			ReconciliationTimeout:   reconcileTimeout,
			SkipNameValidation:      ptr(opts.SkipNameValidation),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := setup(ctx, mgr, opts); err != nil {
		return nil, err
	}
	return mgr, nil
}

func ptr[T any](v T) *T { return &v }

// newClient makes the client of the reconcilers. Its reads wait until the cache shows its own writes, so that a pass
// never acts on what it has already changed.
func newClient(wrap func(client.Client) client.Client) client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		options.Cache.EnableReadYourWritesConsistency = ptr(true)
		options.FieldOwner = v1alpha1.FieldOwner
		c, err := client.New(config, options)
		if err != nil || wrap == nil {
			return c, err
		}
		return wrap(c), nil
	}
}

func metricsOptions(opts Options) metricsserver.Options {
	out := metricsserver.Options{BindAddress: opts.MetricsAddress, SecureServing: opts.MetricsSecure}
	if opts.MetricsSecure {
		out.FilterProvider = authorizeMetrics
	}
	return out
}

// setup adds the reconcilers to the manager.
func setup(ctx context.Context, mgr manager.Manager, opts Options) error {
	if err := shared.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := revisions.SetupIndex(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	metrics, err := shared.NewMetrics(opts.Registry)
	if err != nil {
		return err
	}
	if err := opts.Registry.Register(fleetmetrics.New(mgr.GetCache(), mgr.Elected())); err != nil {
		return fmt.Errorf("registering the metrics of the bots: %w", err)
	}
	recorder := shared.NewRecorder(mgr.GetEventRecorder(v1alpha1.FieldOwner), metrics)
	instances, err := agentinstance.New(agentinstance.Options{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Recorder: recorder, Metrics: metrics,
		Catalog: opts.Catalog, Render: opts.Render, Now: opts.Now, PassingAfter: opts.PassingAfter,
	})
	if err != nil {
		return err
	}
	used := shared.UsedOptions{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Metrics: metrics, Recorder: recorder, Now: opts.Now,
		PassingAfter: opts.PassingAfter,
	}
	return errors.Join(
		instances.SetupWithManager(mgr),
		plugin.SetupWithManager(mgr, opts.Catalog, used),
		persona.SetupWithManager(mgr, used),
		servicepreference.SetupWithManager(mgr, used),
		authoritypolicy.SetupWithManager(mgr, used),
		tenantpolicy.SetupWithManager(mgr, used),
	)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host/filewatch"
	"github.com/aalis-dev/aalis-operator/runtime/host/kube"
	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Where a pod has its things.
const (
	DefaultConfigDir  = "/etc/aalis/config"
	DefaultSecretsDir = "/var/run/aalis/secrets"
	DefaultDataDir    = "/var/lib/aalis"
	DefaultAddr       = ":9090"
)

// mountedAfter is how long the first list of the API may take before the mounted copy of the config is used.
const mountedAfter = 500 * time.Millisecond

// secretsPoll and secretsDebounce are how the mounted Secrets are looked at: events tell at once, polling is for file
// systems that send none.
const (
	secretsPoll     = 30 * time.Second
	secretsDebounce = 20 * time.Millisecond
)

// ClusterOptions configure RunCluster.
type ClusterOptions struct {
	Modules []kernel.Module
	// Version of the runtime and CatalogHash of its modules.
	Version, CatalogHash string
	// Namespace and Instance name the bot, PodName and PodUID the pod, which is also the name of the AgentReplica.
	Namespace, Instance, PodName, PodUID string
	// InstanceUID tells the bot from others of its name, and Cluster those of other clusters; plugins that share a
	// server keep bots apart by them. An empty Cluster is taken to be the only one.
	InstanceUID, Cluster string
	// ConfigDir, SecretsDir and DataDir are the mounts.
	ConfigDir, SecretsDir, DataDir string
	// Addr serves probes and metrics.
	Addr string
	// Tracing says where spans go, if anywhere. The bot's names in it are filled in.
	Tracing TracingOptions
	// API is how to reach the Kubernetes API.
	API    kube.Config
	Logger *slog.Logger
	Level  *slog.LevelVar
	// LogLevel overrides that of the config unless empty.
	LogLevel string
	// StartTime of the process.
	StartTime time.Time
	Now       func() time.Time
	// Listening is told the address that Addr became; it may be nil.
	Listening func(net.Addr)
}

// check names what is missing.
func (o ClusterOptions) check() error {
	var errs []error
	for _, v := range []struct{ name, value string }{
		{"AALIS_NAMESPACE", o.Namespace}, {"AALIS_INSTANCE", o.Instance},
		{"AALIS_POD_NAME", o.PodName}, {"AALIS_POD_UID", o.PodUID},
	} {
		if v.value == "" {
			errs = append(errs, fmt.Errorf("%s must be set", v.name))
		}
	}
	return errors.Join(errs...)
}

// RunCluster runs the kernel of a pod until ctx ends, then drains. It returns an error if it could not start to, or if the
// kernel did not stop in time.
func RunCluster(ctx context.Context, o ClusterOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	client, err := kube.NewClient(o.API)
	if err != nil {
		return err
	}
	defer client.Close()
	meter := metrics.New(metrics.Options{
		Agent: o.Instance, Namespace: o.Namespace, Version: o.Version, CatalogHash: o.CatalogHash,
	})
	o.Tracing.Agent, o.Tracing.Namespace, o.Tracing.Pod, o.Tracing.Version = o.Instance, o.Namespace, o.PodName, o.Version
	tracer, attach, stopTracing, err := startTracing(ctx, o.Tracing, o.Logger, o.Now)
	if err != nil {
		return err
	}
	defer stopTracing()
	ack := kube.NewAcknowledger(kube.AcknowledgerOptions{
		Client: client, Namespace: o.Namespace, Name: o.PodName, Logger: o.Logger,
		Identity: kube.Identity{PodUID: o.PodUID, StartTime: o.StartTime, Version: o.Version, CatalogHash: o.CatalogHash},
	})
	r := NewRunner(RunnerOptions{
		Modules: o.Modules, Secrets: secrets.Dir(o.SecretsDir), LogLevel: o.LogLevel, Logger: o.Logger, Level: o.Level,
		Settings: identitySettings(o.Cluster, o.Namespace, o.InstanceUID),
		Metrics:  meter, Tracer: tracer, Now: o.Now, Version: o.Version, DataDir: o.DataDir,
		Attach:  append(attach, meter.Attach),
		Changed: func(s report.Snapshot) { ack.Set(s) },
	})
	watch, err := filewatch.New([]string{o.SecretsDir}, filewatch.Options{
		Debounce: secretsDebounce, Poll: secretsPoll, Below: true, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	defer watch.Close()
	bound, stop, err := serve(o.Addr, newHandler(r.Ready, meter.Handler(), r.serveUsage(o.Namespace)), o.Logger)
	if err != nil {
		return err
	}
	defer stop()
	if o.Listening != nil {
		o.Listening(bound)
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	tasks.Go(func() { watch.Run(background, r.SecretsChanged) })
	tasks.Go(func() { ack.Run(background) })
	tasks.Go(func() { followConfig(background, o, client, r) })
	err = r.Run(ctx)
	cancel()
	tasks.Wait()
	return err
}

// followConfig delivers what the API says, and the mounted copy as long as the API has said nothing.
func followConfig(ctx context.Context, o ClusterOptions, client *kube.Client, r *Runner) {
	answered := make(chan error, 1)
	first := true
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { mountedUntil(ctx, o, answered, r) })
	kube.Follow(ctx, kube.FollowOptions{
		Client: client, Namespace: o.Namespace, Name: "aalis-" + o.Instance, Logger: o.Logger,
		OnUpdate: func(u kube.Update) { r.Deliver(delivery(u, o.Now())) },
		OnList: func(err error) {
			if first {
				first = false
				answered <- err
			}
		},
	})
}

func delivery(u kube.Update, at time.Time) Delivery {
	return Delivery{Slots: u.Slots, Err: u.Err, At: at}
}

// mountedUntil waits for the first answer of the API for a moment and then, or if there is none, uses the mounted copy.
func mountedUntil(ctx context.Context, o ClusterOptions, answered <-chan error, r *Runner) {
	limit := time.NewTimer(mountedAfter)
	defer limit.Stop()
	var err error
	select {
	case <-ctx.Done():
		return
	case err = <-answered:
		if err == nil {
			return
		}
	case <-limit.C:
		err = fmt.Errorf("no answer within %s", mountedAfter)
	}
	u, readErr := kube.ReadMounted(o.ConfigDir)
	if readErr != nil {
		o.Logger.Error("The mounted config cannot be read", "error", readErr)
		return
	}
	o.Logger.Warn("Using the mounted copy of the config until the Kubernetes API answers", "reason", err)
	r.Deliver(delivery(u, o.Now()))
}

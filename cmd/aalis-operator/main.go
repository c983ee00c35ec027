// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command aalis-operator runs the controllers of Aalis in a cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// gcPercent trades processor time, of which the operator needs little, for memory. GOGC in the environment overrides it.
const gcPercent = 50

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "aalis-operator:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.version {
		fmt.Println(version)
		return nil
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	handler := slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.logLevel})
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	cat, err := catalog.Default()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	s.options.Catalog, s.options.Logger = cat, logger
	s.options.Registry, s.options.Now = metrics.Registry, time.Now
	s.options.Identity = os.Getenv("POD_NAME")
	if err := awaitAPI(ctx, config, logger); err != nil {
		return err
	}
	mgr, err := controllers.NewManager(ctx, config, s.options)
	if err != nil {
		return err
	}
	logger.Info("Starting operator", "version", version, "runtimeImage", s.options.Render.RuntimeImage)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the operator: %w", err)
	}
	return nil
}

// settings are what the flags say.
type settings struct {
	options  controllers.Options
	logLevel slog.Level
	version  bool
}

func parse(args []string) (settings, error) {
	var s settings
	var images, namespaces, dns string
	flags := flag.NewFlagSet("aalis-operator", flag.ContinueOnError)
	o := &s.options
	flags.StringVar(&o.Render.RuntimeImage, "runtime-image", "", "image of the runtime for bots that name none (required)")
	flags.StringVar(&images, "allowed-images", "", "comma-separated patterns of the images that bots may name; '*' matches any run of characters")
	flags.StringVar(&namespaces, "namespaces", "", "comma-separated namespaces to watch; all by default")
	flags.StringVar(&dns, "dns-cidrs", "", "comma-separated address ranges of name servers outside the pods of kube-system, such as a node-local cache")
	o.Render.Tracing.Flags(flags) // of the bots; a change restarts them all
	flags.IntVar(&o.Concurrency, "concurrency", controllers.DefaultConcurrency, "objects of one kind reconciled at a time")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 serves none")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", false, "serve the metrics over TLS, to those whom the cluster allows to get /metrics")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 serves none")
	flags.BoolVar(&o.LeaderElection, "leader-elect", false, "let only one of several operators work")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease; the pod's own by default")
	flags.TextVar(&s.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.BoolVar(&s.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.version {
		return s, nil
	}
	if o.Render.RuntimeImage == "" {
		return s, fmt.Errorf("--runtime-image must be given")
	}
	if o.Concurrency < 1 || o.Concurrency > 64 {
		return s, fmt.Errorf("--concurrency must be between 1 and 64, got %d", o.Concurrency)
	}
	if err := o.Render.Tracing.Check(); err != nil {
		return s, err
	}
	o.Render.AllowedImages, o.Namespaces = list(images), list(namespaces)
	prefixes, err := parsePrefixes(list(dns))
	o.Render.DNS = prefixes
	return s, err
}

func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--dns-cidrs must be address ranges such as 169.254.20.10/32, got %q", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// list splits at commas and drops what is empty.
func list(text string) []string {
	var out []string
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// apiRetry is the pause between two looks for the API server.
const apiRetry = 2 * time.Second

// awaitAPI waits until the API server answers. To start while it is away is no error: a process that gave up would be
// started again ever more seldom, and come back long after the API server.
func awaitAPI(ctx context.Context, config *rest.Config, logger logr.Logger) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	told := false
	return wait.PollUntilContextCancel(ctx, apiRetry, true, func(context.Context) (bool, error) {
		_, err := client.ServerVersion()
		if err != nil && !told {
			told = true
			logger.Info("Waiting for the API server", "error", err.Error())
		}
		return err == nil, nil
	})
}

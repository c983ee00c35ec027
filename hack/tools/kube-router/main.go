// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-router enforces NetworkPolicies on one node of the development
// cluster. It is kube-router's policy controller alone: no routing, no service
// proxy, no BGP, so that neither their code nor their dependencies are built.
// hack/cluster starts it as a host process; it is never part of a release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// cacheSyncTimeout bounds how long the first lists may take.
const cacheSyncTimeout = time.Minute

func main() {
	klog.InitFlags(nil)
	config := options.NewKubeRouterConfig()
	config.EnableIPv4 = true
	config.RunFirewall = true
	flag.StringVar(&config.Kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	flag.StringVar(&config.HostnameOverride, "node-name", "", "name of the node whose pods are guarded")
	clusterCIDR := flag.String("service-cidr", "10.96.0.0/16", "cluster IP range of services")
	flag.Parse()
	config.ClusterIPCIDRs = []string{*clusterCIDR}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, config)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-router:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config *options.KubeRouterConfig) error {
	// The library looks for the node under NODE_NAME first, then under the
	// host's name, which must never win here.
	if err := os.Setenv("NODE_NAME", config.HostnameOverride); err != nil {
		return fmt.Errorf("setting NODE_NAME: %w", err)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return fmt.Errorf("creating the client: %w", err)
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(ctx.Done())
	syncCtx, cancel := context.WithTimeout(ctx, cacheSyncTimeout)
	defer cancel()
	for kind, ok := range factory.WaitForCacheSync(syncCtx.Done()) {
		if !ok {
			return fmt.Errorf("no list of %v within %s", kind, cacheSyncTimeout)
		}
	}

	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return fmt.Errorf("looking for iptables and ipset: %w", err)
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return fmt.Errorf("creating the policy controller: %w", err)
	}
	if err := errors.Join(
		subscribe(pods, controller.PodEventHandler),
		subscribe(namespaces, controller.NamespaceEventHandler),
		subscribe(policies, controller.NetworkPolicyEventHandler),
	); err != nil {
		return fmt.Errorf("subscribing to objects: %w", err)
	}

	var wg sync.WaitGroup
	wg.Add(1)
	controller.Run(drain(ctx), ctx.Done(), &wg)
	wg.Wait()
	return nil
}

func subscribe(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	_, err := informer.AddEventHandler(handler)
	return err
}

// drain returns a channel for the controller's heartbeats, which it sends
// without a deadline. Nobody needs them here: liveness is the process itself.
func drain(ctx context.Context) chan<- *healthcheck.ControllerHeartbeat {
	beats := make(chan *healthcheck.ControllerHeartbeat, 1)
	go func() {
		for {
			select {
			case <-beats:
			case <-ctx.Done():
				// A sync may still be under way: keep taking its beats until the process ends.
				for range beats {
				}
			}
		}
	}()
	return beats
}

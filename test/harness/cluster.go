// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Cluster is a connection to a running cluster.
type Cluster struct {
	// Kubeconfig is the path of the kubeconfig that kubectl is given.
	Kubeconfig string
	// Kubectl is the path of the kubectl binary.
	Kubectl string
	// Config is the REST config of the same kubeconfig, without a client-side rate limit.
	Config *rest.Config
	// Client reads, writes and watches.
	Client client.WithWatch
}

// Connect connects with a kubeconfig; an empty path means the caller's default one.
func Connect(kubeconfig, kubectl string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := aalisv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &Cluster{Kubeconfig: kubeconfig, Kubectl: kubectl, Config: config, Client: c}, nil
}

// Run runs kubectl with an input and returns what it prints. Its error holds what kubectl said.
func (c *Cluster) Run(ctx context.Context, stdin string, args ...string) (string, error) {
	if c.Kubeconfig != "" {
		args = append([]string{"--kubeconfig", c.Kubeconfig}, args...)
	}
	cmd := exec.CommandContext(ctx, c.Kubectl, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// Apply applies manifests to a namespace with kubectl.
func (c *Cluster) Apply(ctx context.Context, namespace, manifests string) error {
	_, err := c.Run(ctx, manifests, "apply", "-n", namespace, "-f", "-")
	return err
}

// EnsureNamespace creates a namespace in which the restricted Pod Security level is enforced.
func (c *Cluster) EnsureNamespace(ctx context.Context, name string) error {
	return c.Apply(ctx, name, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata:
  name: %s
  labels: {pod-security.kubernetes.io/enforce: restricted}
`, name))
}

// PutSecret creates or replaces one key of a Secret.
func (c *Cluster) PutSecret(ctx context.Context, namespace, name, key, value string) error {
	return c.Apply(ctx, namespace, fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: %s}
stringData: {%q: %q}
`, name, key, value))
}

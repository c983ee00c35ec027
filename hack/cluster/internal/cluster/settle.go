// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/render"
)

// applyManifests applies the cluster's own objects unless these very ones were
// applied before.
func (c *Cluster) applyManifests(ctx context.Context, input render.Input) (applied bool, err error) {
	text, err := render.Manifests(input)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(text)
	note := filepath.Join(c.State, "applied")
	hash := hex.EncodeToString(sum[:])
	if now, err := os.ReadFile(note); err == nil && string(now) == hash {
		return false, nil
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, c.kubectl(), "--kubeconfig", c.Kubeconfig(), "apply", "--server-side",
		"--force-conflicts", "--field-manager=aalis-cluster", "-f", "-")
	cmd.Stdin = strings.NewReader(string(text))
	cmd.Env = append(os.Environ(), "HOME="+c.State) // kubectl's caches go with the cluster
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("applying the cluster's own objects: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	c.Log("applied DNS, storage and accesses in %s", time.Since(start).Round(10*time.Millisecond))
	return true, writeIfChanged(note, []byte(hash), 0o644)
}

// settle waits until the cluster can be used.
func (c *Cluster) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	type step struct {
		what  string
		check func(context.Context) error
	}
	var steps []step
	for _, n := range c.Nodes {
		steps = append(steps, step{"node " + n.Name + " is Ready", c.nodeReady(n)}, step{"its kubelet knows its pods", c.podsKnown(n)})
	}
	for _, step := range append(steps, []step{
		{"DNS is available", c.deploymentAvailable("kube-system", "coredns")},
		{"kubernetes.default.svc resolves", c.dnsReady},
		{"volumes can be claimed", c.deploymentAvailable("local-path-storage", "local-path-provisioner")},
		{"a default StorageClass is there", c.storageReady},
	}...) {
		start := time.Now()
		if err := waitFor(ctx, nil, step.check); err != nil {
			return fmt.Errorf("waiting until %s: %w (see %s)", step.what, err, c.Logs())
		}
		if took := time.Since(start); took > probeEvery {
			c.Log("%s after %s", step.what, took.Round(10*time.Millisecond))
		}
	}
	return nil
}

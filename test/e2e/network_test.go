// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// TestEgressIsWhatIsDeclared: a bot reaches the in-cluster hosts that its config names, and no private address until its
// declarer allows it, in the running pod.
func TestEgressIsWhatIsDeclared(t *testing.T) {
	if !bare {
		t.Skip("needs a cluster that is known to enforce NetworkPolicy")
	}
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	pods := &corev1.PodList{}
	must(t, cluster.Client.List(ctx, pods, client.InNamespace(ns), client.MatchingLabels{"app": "fakellm"}))
	address := pods.Items[0].Status.PodIP

	b := newBot(ns, "hello")
	b.llmConfig = fmt.Sprintf(`{baseUrl: "http://%s:8080", customModels: gpt-4o-mini}`, address)
	start(ctx, t, b)
	blocked := func(ctx context.Context) (bool, string) {
		answer, err := cluster.Ask(ctx, ns, b.name, "e2e-"+harness.ShortID(), "#say egress-is-open", io.Discard)
		if err != nil {
			return false, err.Error()
		}
		return !strings.Contains(answer, "egress-is-open"), answer
	}
	eventually(ctx, t, "a private address that is out of reach", time.Minute, blocked)

	allowed := b.instanceYAML() + fmt.Sprintf("  network: {egress: [{to: [{ipBlock: {cidr: %s/32}}], ports: [{port: 8080}]}]}\n", address)
	must(t, cluster.Apply(ctx, ns, allowed))
	eventually(ctx, t, "the address that is allowed now", time.Minute, func(ctx context.Context) (bool, string) {
		ok, answer := blocked(ctx)
		return !ok && strings.Contains(answer, "egress-is-open"), answer
	})
	if n := restarts(ctx, t, b); n != 0 {
		t.Errorf("another egress rule must not restart the pod, it restarted %d times", n)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"math"
	"testing"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// TestLowestSequence: what a kernel says that it has seen counts, so that an older ConfigMap is not taken for the newest,
// but a lie leaves room for the next configs.
func TestLowestSequence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recorded, current, applied, rejected, want int64
	}{
		"nothing":             {0, 0, 0, 0, 0},
		"the ConfigMap":       {3, 4, 4, 0, 4},
		"the status":          {9, 0, 4, 0, 9},
		"restored from a day": {3, 3, 40, 41, 41},
		"a lie":               {3, 4, math.MaxInt64, 0, 4},
		"a lie of a refusal":  {3, 4, 5, math.MaxInt64, 5},
	} {
		p := &pass{instance: &v1alpha1.AgentInstance{}}
		p.instance.Status.Sequence = &c.recorded
		if c.current > 0 {
			p.delivered.Current = &kernelconfig.Delivery{Sequence: c.current}
		}
		p.world.replica = &v1alpha1.AgentReplica{Status: v1alpha1.AgentReplicaStatus{
			AppliedSequence: &c.applied, Rejected: &v1alpha1.RejectedRevision{Sequence: &c.rejected},
		}}
		if got := p.lowestSequence(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

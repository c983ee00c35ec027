// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute_test

import (
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func ExamplePredict() {
	entries := []recompute.Entry{
		{ID: "archive", State: recompute.Pending, Provides: []string{"archive"}, Required: []string{"memory"}},
		{ID: "memory", State: recompute.Pending, Provides: []string{"memory"}},
		{ID: "llm:main", State: recompute.Pending, Provides: []string{"llm"}, Required: []string{"secret:llm/api-key"}},
		{ID: "judge", State: recompute.Pending, Required: []string{"llm"}},
	}
	end := recompute.Predict(entries, nil, recompute.Reason{Kind: recompute.PluginStateChanged})
	fmt.Println("started:", end.Activated)
	for _, w := range end.Waits {
		fmt.Println(w.ID, "is", w.Message)
	}
	// Output:
	// started: [memory archive]
	// llm:main is waiting for secret:llm/api-key
	// judge is waiting for service llm (provided by llm:main, which is pending itself)
}

func ExamplePlan() {
	active := []recompute.Entry{
		{ID: "memory", State: recompute.Active, Provides: []string{"memory"}},
		{ID: "archive", State: recompute.Active, Provides: []string{"archive"}, Required: []string{"memory"}},
		{ID: "search", State: recompute.Active, Required: []string{"archive"}},
	}
	// The memory's registration is gone; the archive's is still there.
	left := []recompute.Provider{{Service: "archive", Owner: "archive"}}
	round := recompute.Plan(active, left, recompute.Reason{Kind: recompute.ServiceDown, Service: "memory"})
	for _, r := range round.Retire {
		fmt.Println("retire", r.ID, "because", r.Cause)
	}
	// Output:
	// retire search because service archive goes away: archive is retired
	// retire archive because service memory is gone
}

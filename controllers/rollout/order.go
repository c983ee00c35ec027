// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// unlabelled is the rank of bots without the label that orders; others is that of values that no step names.
const (
	others     = 900
	unlabelled = 999
)

// Key is the place of a bot in the order of a roll-out: keys are compared as strings, and no two bots of a namespace
// have the same. A bot is let through while its key is not greater than the cut of the status.
func Key(spec *v1alpha1.RolloutSpec, name string, labels map[string]string) string {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	rank, value := 0, ""
	if spec != nil && spec.Order != nil && spec.Order.By == v1alpha1.RolloutByLabel {
		rank, value = rankOf(spec, labels)
	}
	// '!' is less than every character of a label's value, so that values are in the order of their bytes.
	return fmt.Sprintf("%03d!%s!%016x!%s", rank, value, h.Sum64(), name)
}

func rankOf(spec *v1alpha1.RolloutSpec, labels map[string]string) (int, string) {
	value, ok := labels[spec.Order.Label]
	if !ok {
		return unlabelled, ""
	}
	i := slices.IndexFunc(spec.Steps, func(s v1alpha1.RolloutStep) bool { return s.LabelValue != "" && s.LabelValue == value })
	if i < 0 {
		return others, value
	}
	return i, value
}

// share is the number of bots that may have the revision in a step, from 1; later steps never have less. The keys are
// sorted.
func share(spec *v1alpha1.RolloutSpec, step int, ranks []int) int {
	total, most := len(ranks), 0
	if step > len(spec.Steps) {
		return total
	}
	for i, s := range spec.Steps[:step] {
		switch {
		case s.Percent != nil:
			most = max(most, (total*int(*s.Percent)+99)/100)
		case s.LabelValue != "":
			n := 0
			for _, rank := range ranks {
				if rank <= i {
					n++
				}
			}
			most = max(most, n)
		}
	}
	return min(most, total)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness_test

import (
	"testing"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

func TestSum(t *testing.T) {
	const text = `# TYPE aalis_tokens_total counter
aalis_tokens_total{type="prompt",model="a"} 3
aalis_tokens_total{type="prompt",model="b"} 4
aalis_tokens_total{type="completion",model="a"} 5
`
	tests := []struct {
		labels map[string]string
		want   float64
	}{{nil, 12}, {map[string]string{"type": "prompt"}, 7}, {map[string]string{"type": "prompt", "model": "b"}, 4}, {map[string]string{"type": "x"}, 0}}
	for _, tc := range tests {
		if got, err := harness.Sum(text, "aalis_tokens_total", tc.labels); err != nil || got != tc.want {
			t.Errorf("%v: want %v, got %v, %v", tc.labels, tc.want, got, err)
		}
	}
	if _, err := harness.Sum(text, "other", nil); err == nil {
		t.Error("a metric that is not there must be an error")
	}
	if _, err := harness.Sum("{", "other", nil); err == nil {
		t.Error("what is no exposition must be an error")
	}
}

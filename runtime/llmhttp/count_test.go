// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"encoding/json"
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"0": 0, "12": 12, "-3": -3, "12.0": 12, "1.6": 2, "1e3": 1000, "1e99": math.MaxInt, "1e999": math.MaxInt, "-1e99": -1,
		"99999999999999999999": math.MaxInt, `"12"`: -1, "true": -1, "{}": -1, "[1]": -1, "null": 0,
	} {
		var frame struct{ N Count }
		if err := json.Unmarshal([]byte(`{"N":`+in+`}`), &frame); err != nil || int(frame.N) != want {
			t.Errorf("%s: %d, %v; want %d", in, frame.N, err, want)
		}
	}
	var none *Count
	if none.Told() != nil {
		t.Error("nothing was told, and a number came")
	}
}

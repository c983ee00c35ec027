// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"encoding/json"
	"math"
)

// Count is a number of tokens as a server tells it. What is no whole number that a computer counts with does not spoil the
// reply that it comes with: what is too large becomes the largest number, what is no number at all -1, and whoever judges
// the frame throws it away.
type Count int

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (c *Count) UnmarshalJSON(data []byte) error {
	var whole int
	if json.Unmarshal(data, &whole) == nil {
		*c = Count(whole)
		return nil
	}
	var broken float64
	switch err := json.Unmarshal(data, &broken); {
	case err == nil && math.Abs(broken) < math.MaxInt32:
		*c = Count(math.Round(broken))
	case err == nil && broken > 0, err != nil && data[0] >= '0' && data[0] <= '9':
		*c = math.MaxInt
	default:
		*c = -1
	}
	return nil
}

// Told gives the number; nil if nothing was told.
func (c *Count) Told() *int {
	if c == nil {
		return nil
	}
	n := int(*c)
	return &n
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package money

import (
	"math"
	"strings"
	"testing"
)

func TestParseAndFormat(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "1": PerUnit, "0.000000001": 1, "2.50": 2_500_000_000, "999999999.999999999": 999_999_999_999_999_999} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "1e3", ".5", "1.", "1.0000000001", "1234567890", "１", "1,5", "NaN"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "at most nine decimals") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for n, want := range map[int64]string{0: "0.00", 1: "0.000000001", 2_500_000_000: "2.50", -1_500_000_000: "-1.50", math.MinInt64: "-9223372036.854775808"} {
		if got := Format(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for code, want := range map[string]bool{"USD": true, "usd": false, "": false, "USDT": false} {
		if IsCurrency(code) != want {
			t.Errorf("%s", code)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1.50")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		if back, err := Parse(Format(n)); back != n || err != nil {
			t.Errorf("%q is %d, written %s, read %d, %v", text, n, Format(n), back, err)
		}
	})
}

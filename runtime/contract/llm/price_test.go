// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestCost(t *testing.T) {
	t.Parallel()
	price := Price{Currency: "USD", Prompt: 2_500_000_000, CachedPrompt: 1_250_000_000, Completion: 10_000_000_000}
	cached := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		price Price
		used  Usage
		want  Nanos
	}{
		"nothing":            {price, Usage{}, 0},
		"prompt and reply":   {price, Usage{PromptTokens: 1000, CompletionTokens: 500}, 7_500_000},
		"cached part":        {price, Usage{PromptTokens: 1000, CachedPromptTokens: cached(400)}, 2_000_000},
		"more cached than a": {price, Usage{PromptTokens: 1000, CachedPromptTokens: cached(4000)}, 1_250_000},
		"negative counts":    {price, Usage{PromptTokens: -5, CompletionTokens: -7, CachedPromptTokens: cached(-1)}, 0},
		"free":               {Price{Currency: "USD"}, Usage{PromptTokens: 1 << 40}, 0},
		"nine decimals":      {Price{Currency: "USD", Prompt: 1}, Usage{PromptTokens: 1}, 1},
		"absurd":             {Price{Prompt: math.MaxInt64}, Usage{PromptTokens: math.MaxInt64}, math.MaxInt64},
	} {
		if got := c.price.Cost(c.used); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestCostIsExact compares with arithmetic that has no bounds.
func TestCostIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64)
		p := Price{Prompt: Nanos(n.Draw(t, "prompt")), CachedPrompt: Nanos(n.Draw(t, "cachedPrompt")), Completion: Nanos(n.Draw(t, "completion"))}
		in, out := n.Draw(t, "in"), n.Draw(t, "out")
		cached := rapid.Int64Range(0, in).Draw(t, "cached")
		asInt := int(cached)
		want := new(big.Int)
		for _, part := range [][2]int64{{in - cached, int64(p.Prompt)}, {cached, int64(p.CachedPrompt)}, {out, int64(p.Completion)}} {
			want.Add(want, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		want.Add(want, big.NewInt(tokensPriced-1)).Div(want, big.NewInt(tokensPriced))
		if bound := big.NewInt(math.MaxInt64); want.Cmp(bound) > 0 {
			want = bound
		}
		if got := p.Cost(Usage{PromptTokens: int(in), CachedPromptTokens: &asInt, CompletionTokens: int(out)}); int64(got) != want.Int64() {
			t.Fatalf("cost %d, want %s", got, want)
		}
	})
}

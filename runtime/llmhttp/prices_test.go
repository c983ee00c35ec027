// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

func TestParsePrices(t *testing.T) {
	t.Parallel()
	got, err := ParsePrices("# as of May\n gpt-4o-mini: USD prompt=0.15 cached=0.075 completion=0.60\n\nqwen3:8b : CNY completion=0 prompt=0.000000001\n")
	want := map[string]llm.Price{
		"gpt-4o-mini": {Currency: "USD", Prompt: 150_000_000, CachedPrompt: 75_000_000, Completion: 600_000_000},
		"qwen3:8b":    {Currency: "CNY", Prompt: 1, CachedPrompt: 1},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for text, why := range map[string]string{
		"gpt":                                     "line 1: must be",
		"\n: USD prompt=1 completion=1":           "line 2: a model id must be given",
		"a: usd prompt=1 completion=1":            "currency",
		"a:":                                      "currency",
		"a: USD prompt=1":                         "prompt and completion must be given",
		"a: USD prompt=-1 completion=1":           `prompt: must be a number from 0 to 999999999`,
		"a: USD prompt=1e3 completion=1":          "prompt: must be",
		"a: USD prompt=.5 completion=1":           "prompt: must be",
		"a: USD prompt=0.0000000001 completion=1": "at most nine decimals",
		"a: USD prompt=1 prompt=1 completion=1":   "prompt is given twice",
		"a: USD prompt=1 answer=1":                `got "answer=1"`,
		"a: USD prompt=1 completion=1\na: USD prompt=2 completion=2": "line 2: model \"a\" has a price already",
	} {
		if _, err := ParsePrices(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add("gpt-4o-mini: USD prompt=0.15 cached=0.075 completion=0.60")
	f.Add("a: EUR prompt=999999999.999999999 completion=0")
	f.Fuzz(func(t *testing.T, text string) {
		prices, err := ParsePrices(text)
		if err != nil && prices != nil {
			t.Error("prices and an error")
		}
		for id, p := range prices {
			if CheckModelID(id) != nil || p.Prompt < 0 || p.CachedPrompt < 0 || p.Completion < 0 || len(p.Currency) != 3 {
				t.Errorf("%q: %+v", id, p)
			}
		}
	})
}

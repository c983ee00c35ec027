// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAnyTextCountsAsThePublicImplementation is about texts of any characters that Unicode has.
func TestAnyTextCountsAsThePublicImplementation(t *testing.T) {
	t.Parallel()
	encodings := map[encoding]*table{o200k: load(t, o200k), cl100k: load(t, cl100k)}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\n\t]{0,200}`), rapid.StringMatching(`[\p{Han}，。 a-zé]{0,100}`)).Draw(t, "text")
		for enc, table := range encodings {
			if got, want := table.count(text), len(oracles[enc].EncodeOrdinary(text)); got != want {
				t.Fatalf("%s: %q has %d tokens, want %d", enc, text, got, want)
			}
		}
	})
}

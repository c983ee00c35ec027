// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// Bounds and defaults of a Server. README.md documents them.
const (
	defaultMaxBody             = 16 << 20
	defaultLedgerEntries       = 1000
	defaultLedgerBytes         = 64 << 20
	defaultPrefixEntries       = 65536
	defaultDimensions          = 1536
	defaultWriteTimeout        = 30 * time.Second
	defaultBodyTimeout         = 30 * time.Second
	maxDimensions              = 4096
	maxCounters                = 4096
	maxFaults                  = 1000
	maxUsagePairs              = 4096
	maxRepeat                  = 1_000_000
	maxRepeatUnits             = 16 << 20
	maxPieces                  = 100_000
	maxDirectiveTools          = 128
	modelsCreated        int64 = 1_700_000_000
)

// Options configures a Server. The zero value is useful: default models, no required key, no pacing, no log.
type Options struct {
	// Models are the chat model ids, in the order /v1/models lists them. Empty means DefaultModels.
	Models []string
	// EmbeddingModels are the ids /v1/embeddings accepts; they are listed after Models. Empty means DefaultEmbeddingModels.
	EmbeddingModels []string
	// APIKeys are the accepted bearer tokens. Empty means that every request is accepted, with or without a token.
	APIKeys []string

	// ChunkDelay is waited before every streamed chunk. Zero or less means none.
	ChunkDelay time.Duration
	// Chunks splits every answer into that many pieces. Zero or less means one piece a word.
	Chunks int
	// EmbeddingDimensions is the length of a vector when the request names none. Default 1536, at most 4096.
	EmbeddingDimensions int

	// MaxBody bounds a request body, in bytes. Default 16 MiB.
	MaxBody int64
	// LedgerEntries bounds how many requests are remembered. Default 1000.
	LedgerEntries int
	// LedgerBytes bounds the sum of the remembered bodies, in bytes. Default 64 MiB.
	LedgerBytes int
	// PrefixEntries bounds how many prompt prefixes the cache model remembers. Default 65536.
	PrefixEntries int
	// WriteTimeout bounds one write to a client that does not read. Default 30 s.
	WriteTimeout time.Duration

	// Logger receives one line a request, never a body. Nil means no log.
	Logger *slog.Logger
	// Now gives the time of ledger entries and the "created" field. Nil means time.Now.
	Now func() time.Time
	// Wait blocks for d or until ctx ends, and returns ctx's error in that case. Nil means a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// DefaultModels returns the chat model ids used when Options names none.
func DefaultModels() []string { return []string{"gpt-4o-mini", "gpt-4o", "fake-1"} }

// DefaultEmbeddingModels returns the embedding model ids used when Options names none.
func DefaultEmbeddingModels() []string { return []string{"text-embedding-3-small"} }

// withDefaults returns o with every unset or out-of-range field replaced by its default.
func (o Options) withDefaults() Options {
	if len(o.Models) == 0 {
		o.Models = DefaultModels()
	}
	if len(o.EmbeddingModels) == 0 {
		o.EmbeddingModels = DefaultEmbeddingModels()
	}
	o.Models = unique(o.Models)
	o.EmbeddingModels = unique(o.EmbeddingModels)
	o.APIKeys = slices.Clone(o.APIKeys)
	o.ChunkDelay = max(o.ChunkDelay, 0)
	o.Chunks = min(max(o.Chunks, 0), maxPieces)
	o.EmbeddingDimensions = min(positive(o.EmbeddingDimensions, defaultDimensions), maxDimensions)
	o.MaxBody = positive(o.MaxBody, defaultMaxBody)
	o.LedgerEntries = positive(o.LedgerEntries, defaultLedgerEntries)
	o.LedgerBytes = positive(o.LedgerBytes, defaultLedgerBytes)
	o.PrefixEntries = positive(o.PrefixEntries, defaultPrefixEntries)
	o.WriteTimeout = positive(o.WriteTimeout, defaultWriteTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = waitTimer
	}
	return o
}

// waitTimer is the default Options.Wait.
func waitTimer(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func positive[T int | int64 | time.Duration](v, fallback T) T {
	if v > 0 {
		return v
	}
	return fallback
}

// unique returns the distinct elements of ids in their first order.
func unique(ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

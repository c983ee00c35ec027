// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// unitsPerToken is how many UTF-16 code units of a summary a token of its budget stands for.
const unitsPerToken = 3

// build gives the summary of the session, cut to its share of the context window.
func (s *summarizer) build(ctx context.Context, view agent.PromptView) ([]string, error) {
	if view.SessionID == "" {
		return nil, nil
	}
	b, ok := memory.Service.Get(s.k)
	if !ok {
		return nil, nil
	}
	r, err := s.load(ctx, b, view.SessionID)
	text := strings.TrimSpace(r.Summary)
	if err != nil || text == "" {
		return nil, err
	}
	cfg := *s.cfg.Load()
	text = i18n.Cut(text, unitsPerToken*budget(contextLength(s.models(cfg)), cfg))
	return []string{i18n.SummaryHeader().In(i18n.Of(s.k)) + "\n" + text}, nil
}

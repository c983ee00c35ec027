// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// TestDecisions: each is counted, and words that nobody knows cannot make series without end. Nobody's name is a label.
func TestDecisions(t *testing.T) {
	m := testMetrics()
	h := kerneltest.New(t)
	m.Attach(h.Root())
	for range 3 {
		access.Decided.Emit(context.Background(), h.Root(), access.Audit{Kind: "tool", Capability: "tool:x", Outcome: "deny", Rule: "risk", UserID: "canary-user"})
	}
	for i := range 5000 {
		access.Decided.Emit(context.Background(), h.Root(), access.Audit{Kind: "tool", Outcome: "deny", Rule: fmt.Sprint("rule", i), SessionID: fmt.Sprint("canary-", i)})
	}
	text := scrape(t, m)
	if !strings.Contains(text, `kind="tool",namespace="team-a",outcome="deny",rule="risk"} 3`) {
		t.Errorf("the count is missing:\n%s", text)
	}
	if n := strings.Count(text, "aalis_authority_decisions_total{"); n > 150 || strings.Contains(text, "canary") {
		t.Errorf("%d series", n)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// metaContributions is the metadata key under which the persona's text may say which of its characters came from others.
const metaContributions = "_tokenContributions"

// tellUsage tells what fills the context window before a call.
func (t *turn) tellUsage(ctx context.Context, fit trimmed, tools []message.ToolDefinition) {
	u := agent.TokenUsage{
		SessionID: t.msg.SessionID, Platform: t.msg.Platform, ContextWindow: t.window.context,
		MaxTokens: t.window.maxTokens, TokenBudget: t.window.budget, Breakdown: breakdown(fit),
	}
	b := &u.Breakdown
	b.ToolDefs, b.ReservedForReply = t.counts.definitions(tools), t.window.maxTokens
	u.Used = b.System + b.History + b.ToolResults + b.ToolDefs
	if u.ContextWindow > 0 {
		u.UsageRatio = float64(u.Used) / float64(u.ContextWindow)
	}
	agent.Usage.Emit(ctx, t.a.k, u)
	if tag, due := t.a.usageLog.next(u.SessionID, u.UsageRatio); due {
		t.a.k.Logger().Info(usageLine(tag, u))
	}
}

// breakdown sorts the costs of a prompt by what put the messages there.
func breakdown(fit trimmed) (b agent.TokenBreakdown) {
	for i := range fit.list {
		m, cost := &fit.list[i], fit.costs[i]
		switch m.Role {
		case message.RoleSystem:
			addSystem(&b, m, cost)
		case message.RoleTool:
			b.ToolResults += cost
		default:
			b.History += cost
		}
	}
	b.System = b.Persona + b.MemorySummary + b.MemoryVector + b.Skills + b.Platform + b.Subtask + b.SystemOther
	return b
}

// addSystem adds a system message to the bucket of its injector.
func addSystem(b *agent.TokenBreakdown, m *message.Message, cost int) {
	injector := m.Injector()
	label := injector[strings.LastIndexByte(injector, '/')+1:]
	switch {
	case label == "" || label == injectorPersona:
		addPersona(b, m.Metadata[metaContributions], cost)
	case label == "memory-summary":
		b.MemorySummary += cost
	case label == "memory-vector":
		b.MemoryVector += cost
	case strings.HasPrefix(label, "platform"):
		b.Platform += cost
	case label == "skills-discovery" || strings.HasPrefix(label, "skills-activation"):
		b.Skills += cost
	case label == "parent-status":
		b.Subtask += cost
	case label == injectorOther:
		b.SystemOther += cost
	default:
		b.SystemOther += cost
		if b.Injectors == nil {
			b.Injectors = map[string]int{}
		}
		b.Injectors[label] += cost
	}
}

// addPersona splits the persona's text by the characters that others have in it.
func addPersona(b *agent.TokenBreakdown, contributions any, cost int) {
	shares, _ := contributions.(map[string]any)
	for name, v := range shares {
		units, ok := number(v)
		if !ok || units <= 0 {
			continue
		}
		n := (2*units + 6) / 7 // plain characters, 3.5 to a token
		switch name {
		case "skills":
			b.Skills += n
		case "subtask":
			b.Subtask += n
		default:
			b.SystemOther += n
		}
		cost -= n
	}
	b.Persona += max(0, cost)
}

func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), true
	default:
		return 0, false
	}
}

// usageLine writes the report for the log.
func usageLine(tag string, u agent.TokenUsage) string {
	b := u.Breakdown
	return fmt.Sprintf(
		"[token-usage:%s] %s %d/%d (%.1f%%) sys=%d(persona=%d mem=%d skills=%d subtask=%d other=%d) hist=%d tools=%d+%ddef reserve=%d",
		tag, u.SessionID, u.Used, u.ContextWindow, u.UsageRatio*100, b.System, b.Persona, b.MemorySummary+b.MemoryVector,
		b.Skills, b.Subtask, b.SystemOther, b.History, b.ToolResults, b.ToolDefs, b.ReservedForReply)
}

// usageTags name the ranges of the usage ratio, and usageLimits are where one gives way to the next.
var (
	usageTags   = [...]string{"OK", "INFO", "WARN", "CRITICAL"}
	usageLimits = [...]float64{0.5, 0.7, 0.85}
)

const (
	// usageEvery is the number of reports of a session of which one is logged in any case.
	usageEvery = 10
	// maxUsageSessions bounds each of the two generations of sessions that a usageLog remembers.
	maxUsageSessions = 2048
)

// usageLog decides which reports are logged: those whose range is another than the session's last one, and every tenth.
type usageLog struct {
	mu           sync.Mutex
	young, older map[string]usageState
}

// usageState is what is remembered of a session.
type usageState struct {
	count int
	last  int // the range of the last report
}

func newUsageLog() *usageLog { return &usageLog{young: map[string]usageState{}} }

// next takes in a report and tells whether it is to be logged, and under which tag.
func (l *usageLog) next(session string, ratio float64) (tag string, due bool) {
	bucket := 0
	for bucket < len(usageLimits) && ratio >= usageLimits[bucket] {
		bucket++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.young[session]
	if !known {
		if s, known = l.older[session]; !known {
			s.last = -1
		}
		if len(l.young) >= maxUsageSessions {
			l.older, l.young = l.young, map[string]usageState{}
		}
	}
	s.count++
	due = s.last != bucket || s.count%usageEvery == 1
	s.last = bucket
	l.young[session] = s
	return usageTags[bucket], due
}

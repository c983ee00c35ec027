// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package promptbudget

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
)

const (
	maxSessions = 500
	// maxAge is how long the usage of a session is kept after it was last told or looked at.
	maxAge = 6 * time.Hour
	// topBuckets is how many of the greatest buckets are named.
	topBuckets = 3
)

// The shares of the window from which a tag begins. The agent's log line has the same.
const (
	infoRatio     = 0.5
	warnRatio     = 0.7
	criticalRatio = 0.85
)

// What models read.
const (
	toolName    = "prompt_budget_info"
	description = "查看当前会话的上下文窗口占用情况：已用 token、占比、各部分明细与建议。"
	noData      = "尚无用量数据：本会话还没有调用过模型，或距上次调用已超过 6 小时。"
	adviceFull  = "上下文即将用尽：请尽快收尾，不要再读取大段内容；必要时先总结要点，较早的内容随时可能被移除。"
	adviceTight = "上下文占用偏高：避免不必要的长输出和大结果，优先完成当前任务。"
	adviceFine  = "上下文充足，无需特别处理。"
)

// observation is a usage and when it was told.
type observation struct {
	usage agent.TokenUsage
	at    time.Time
}

// book keeps the last usage of each session.
type book struct {
	now  func() time.Time
	last *bounded.Map[string, observation]
}

func (b *book) note(u agent.TokenUsage) { b.last.Set(u.SessionID, observation{usage: u, at: b.now()}) }

// bucket is one part of what fills the window.
type bucket struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// report is what the tool gives, in the order in which the model reads it.
type report struct {
	SessionID     string               `json:"sessionId"`
	AgeMs         int64                `json:"ageMs"`
	ObservedAt    string               `json:"observedAt"`
	Tag           string               `json:"tag"`
	Used          int                  `json:"used"`
	ContextWindow int                  `json:"contextWindow"`
	UsageRatio    float64              `json:"usageRatio"`
	MaxTokens     int                  `json:"maxTokens"`
	TokenBudget   int                  `json:"tokenBudget"`
	Breakdown     agent.TokenBreakdown `json:"breakdown"`
	Top3          []bucket             `json:"top3"`
	Advice        string               `json:"advice"`
}

// absent is what the tool gives when it knows nothing.
type absent struct {
	SessionID string `json:"sessionId"`
	NoData    bool   `json:"noData"`
	Message   string `json:"message"`
}

func (b *book) tool() tools.Tool {
	return tools.Tool{
		Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{
			Name: toolName, Description: description,
			Parameters: map[string]any{
				"type": "object",
				"properties": map[string]any{
					"sessionId": map[string]any{"type": "string", "description": "会话 id，默认当前会话"},
				},
			},
		}},
		Handler: b.handle,
	}
}

func (b *book) handle(_ context.Context, args map[string]any, call tools.CallContext) (string, error) {
	session := call.SessionID
	switch v := args["sessionId"].(type) {
	case nil:
	case string:
		if v != "" {
			session = v
		}
	default:
		return "", fmt.Errorf("sessionId 必须是字符串，收到 %T", v)
	}
	o, ok := b.last.Get(session)
	if !ok {
		return tools.Result(absent{SessionID: session, NoData: true, Message: noData})
	}
	return tools.Result(b.report(session, o))
}

func (b *book) report(session string, o observation) report {
	u := o.usage
	return report{
		SessionID: session, AgeMs: max(b.now().Sub(o.at).Milliseconds(), 0),
		ObservedAt: o.at.UTC().Format(time.RFC3339Nano),
		Tag:        tag(u.UsageRatio), Used: u.Used, ContextWindow: u.ContextWindow, UsageRatio: rounded(u.UsageRatio),
		MaxTokens: u.MaxTokens, TokenBudget: u.TokenBudget,
		Breakdown: u.Breakdown, Top3: top(u.Breakdown), Advice: advice(u.UsageRatio),
	}
}

// rounded keeps four decimals. What no JSON can hold is 0.
func rounded(ratio float64) float64 {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return 0
	}
	return math.Round(ratio*1e4) / 1e4
}

func tag(ratio float64) string {
	switch {
	case ratio >= criticalRatio:
		return "CRITICAL"
	case ratio >= warnRatio:
		return "WARN"
	case ratio >= infoRatio:
		return "INFO"
	}
	return "OK"
}

func advice(ratio float64) string {
	switch {
	case ratio >= criticalRatio:
		return adviceFull
	case ratio >= warnRatio:
		return adviceTight
	}
	return adviceFine
}

// top names the greatest parts. The sum of the system parts and the detail of one of them (injectors) are left out, since
// they would count the same tokens twice, and so is what is only reserved.
func top(b agent.TokenBreakdown) []bucket {
	all := []bucket{
		{"persona", b.Persona}, {"memorySummary", b.MemorySummary}, {"memoryVector", b.MemoryVector},
		{"skills", b.Skills}, {"platform", b.Platform}, {"subtask", b.Subtask}, {"systemOther", b.SystemOther},
		{"history", b.History}, {"toolResults", b.ToolResults}, {"toolDefs", b.ToolDefs},
	}
	all = slices.DeleteFunc(all, func(x bucket) bool { return x.Tokens <= 0 })
	slices.SortStableFunc(all, func(x, y bucket) int { return cmp.Compare(y.Tokens, x.Tokens) })
	return all[:min(len(all), topBuckets)]
}

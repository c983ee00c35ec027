// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// The lengths of the stages of trimming, in UTF-16 code units.
const (
	leastInjected     = 200  // what stage 1 leaves of a system message
	longToolOutput    = 1500 // from where on stage 2 cuts the result of a tool
	keptToolOutput    = 500
	keptReasoning     = 200
	keptNewReasoning  = 400 // of the newest one that is cut
	keptSummaryResult = 100
	hintAfterRemovals = 6 // messages
)

// What stands in the place of what was cut. These are read by models and stand in requests only.
const (
	cutInjected  = "\n... [记忆内容已缩减]"
	cutOutput    = "\n... [工具输出已截断]"
	cutReasoning = "\n... [推理内容已缩减]"
	oldToolCalls = "[历史工具调用] "
	noResult     = "(无结果)"

	continuationHint = `[系统提示] 由于上下文长度限制，部分历史消息已被压缩或移除。请基于当前可见的上下文和最新用户请求继续完成任务，不要因为看不到之前的细节而停止工作。如果你之前有正在执行的多步骤任务或计划，请查看对话摘要和 todo-list 工具确认当前进度，然后继续未完成的步骤。`
)

// trimmed is a list of messages that was brought within a budget as far as the rules allow, and what each costs.
type trimmed struct {
	list  []message.Message
	costs []int // in tokens
	total int
	stage string // the last stage that was entered; empty if the list was within the budget
}

// trimmer brings one list within a budget, stage by stage. What it changes is its own copy.
type trimmer struct {
	counts *counts
	budget int
	trimmed
}

// trim cuts a list down to a budget of tokens: memoryBudget is what the system messages behind the first may take. The
// first message, the last one, the last one of a user and the last group of tool calls always stay. The input is not
// changed; it is the result if it is within the budget.
func (c *counts) trim(list []message.Message, budget, memoryBudget int) trimmed {
	t := &trimmer{counts: c, budget: budget, trimmed: trimmed{list: list, costs: make([]int, len(list))}}
	for i := range list {
		t.costs[i] = c.message(&list[i])
		t.total += t.costs[i]
	}
	if !t.over() {
		return t.trimmed
	}
	t.list = slices.Clone(list)
	for _, s := range [...]struct {
		name string
		run  func()
	}{
		{"1", func() { t.shrinkInjected(memoryBudget) }},
		{"2", t.cutToolOutputs},
		{"2.5", t.cutReasoning},
		{"3", t.summariseToolGroups},
		{"4", t.deleteOldest},
		{"5", func() { t.deleteInjected(len(list)) }},
	} {
		t.stage = s.name
		if s.run(); !t.over() {
			break
		}
	}
	return t.trimmed
}

func (t *trimmer) over() bool { return t.total > t.budget }

// recount takes a change of a message into the sum.
func (t *trimmer) recount(i int) {
	cost := t.counts.message(&t.list[i])
	t.total += cost - t.costs[i]
	t.costs[i] = cost
}

// shrinkInjected is stage 1: the system messages between the first and the last message share out memoryBudget.
func (t *trimmer) shrinkInjected(memoryBudget int) {
	sum := 0
	for i := 1; i < len(t.list)-1; i++ {
		if t.list[i].Role == message.RoleSystem {
			sum += t.costs[i]
		}
	}
	if sum <= memoryBudget {
		return
	}
	ratio := float64(memoryBudget) / float64(sum)
	for i := 1; i < len(t.list)-1; i++ {
		m := &t.list[i]
		if m.Role != message.RoleSystem {
			continue
		}
		if n := units(m.Content); n > leastInjected {
			m.Content = cutTo(m.Content, max(leastInjected, int(float64(n)*ratio)), cutInjected)
			t.recount(i)
		}
	}
}

// cutToolOutputs is stage 2.
func (t *trimmer) cutToolOutputs() {
	for i := 1; i < len(t.list)-1 && t.over(); i++ {
		if m := &t.list[i]; m.Role == message.RoleTool && longer(m.Content, longToolOutput) {
			m.Content = cutTo(m.Content, keptToolOutput, cutOutput)
			t.recount(i)
		}
	}
}

// cutReasoning is stage 2.5. Nothing is removed altogether: some providers refuse a history whose reasoning disappeared.
func (t *trimmer) cutReasoning() {
	var long []int
	for i := 1; i < len(t.list); i++ {
		if m := &t.list[i]; m.Role == message.RoleAssistant && longer(m.ReasoningContent, keptReasoning) {
			long = append(long, i)
		}
	}
	for n, i := range long {
		if !t.over() {
			return
		}
		keep := keptReasoning
		if n == len(long)-1 {
			keep = keptNewReasoning
		}
		if m := &t.list[i]; longer(m.ReasoningContent, keep) {
			m.ReasoningContent = cutTo(m.ReasoningContent, keep, cutReasoning)
			t.recount(i)
		}
	}
}

// group is an assistant message that calls tools, and the tool messages that follow it.
type group struct{ from, to int } // to is behind the last

// groups finds the groups from index 1 on.
func (t *trimmer) groups() (out []group) {
	for i := 1; i < len(t.list); i++ {
		if !callsTools(&t.list[i]) {
			continue
		}
		g := group{i, i + 1}
		for g.to < len(t.list) && t.list[g.to].Role == message.RoleTool {
			g.to++
		}
		out = append(out, g)
		i = g.to - 1
	}
	return out
}

func callsTools(m *message.Message) bool {
	return m.Role == message.RoleAssistant && len(m.ToolCalls) > 0
}

// summariseToolGroups is stage 3: all groups but the last become one message each, the oldest first.
func (t *trimmer) summariseToolGroups() {
	groups := t.groups()
	if len(groups) < 2 {
		return
	}
	gone := make([]bool, len(t.list))
	for _, g := range groups[:len(groups)-1] {
		if !t.over() {
			break
		}
		summary := message.Message{Role: message.RoleAssistant, Content: summaryOf(t.list[g.from:g.to])}
		cost, before := t.counts.message(&summary), 0
		for _, c := range t.costs[g.from:g.to] {
			before += c
		}
		if cost >= before {
			continue
		}
		t.list[g.from], t.costs[g.from] = summary, cost
		t.total += cost - before
		for i := g.from + 1; i < g.to; i++ {
			gone[i] = true
		}
	}
	t.remove(gone)
}

// summaryOf writes a group as text.
func summaryOf(g []message.Message) string {
	var b strings.Builder
	if g[0].Content != "" {
		b.WriteString(g[0].Content + "\n")
	}
	b.WriteString(oldToolCalls)
	for i, call := range g[0].ToolCalls {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(call.Function.Name + " → ")
		if i+1 >= len(g) {
			b.WriteString(noResult)
			continue
		}
		head, cut := cutUnits(g[i+1].Content, keptSummaryResult)
		if b.WriteString(head); cut {
			b.WriteString("...")
		}
	}
	return b.String()
}

// deleteOldest is stage 4.
func (t *trimmer) deleteOldest() {
	last := len(t.list) - 1
	protected := group{}
	if groups := t.groups(); len(groups) > 0 {
		protected = groups[len(groups)-1]
	}
	user := beforeLastUser(t.list)
	gone := make([]bool, len(t.list))
	take := func(i int) {
		gone[i] = true
		t.total -= t.costs[i]
	}
	for i := 1; i < last && t.over(); i++ {
		if m := &t.list[i]; m.Role == message.RoleSystem || i == user || i >= protected.from && i < protected.to {
			continue
		}
		take(i)
		if !callsTools(&t.list[i]) {
			continue
		}
		for i+1 < last && t.list[i+1].Role == message.RoleTool {
			i++
			take(i)
		}
	}
	t.remove(gone)
}

// deleteInjected is stage 5, the last resort. A model that lost much of its conversation is told so.
func (t *trimmer) deleteInjected(before int) {
	gone := make([]bool, len(t.list))
	for i := 1; i < len(t.list)-1 && t.over(); i++ {
		if t.list[i].Role == message.RoleSystem {
			gone[i] = true
			t.total -= t.costs[i]
		}
	}
	t.remove(gone)
	if before-len(t.list) < hintAfterRemovals {
		return
	}
	at := beforeLastUser(t.list) + 1
	if at == 0 { // nobody spoke: it goes before what stands last, which may be the results of a call
		for at = len(t.list) - 1; at > 1 && t.list[at].Role == message.RoleTool; at-- {
		}
	}
	hint := system(injectorOther, continuationHint)
	cost := t.counts.message(&hint)
	t.list, t.costs = slices.Insert(t.list, at, hint), slices.Insert(t.costs, at, cost)
	t.total += cost
}

// remove takes the marked messages out.
func (t *trimmer) remove(gone []bool) {
	n := 0
	for i, g := range gone {
		if !g {
			t.list[n], t.costs[n] = t.list[i], t.costs[i]
			n++
		}
	}
	clear(t.list[n:])
	t.list, t.costs = t.list[:n], t.costs[:n]
}

func cutTo(s string, limit int, suffix string) string {
	head, _ := cutUnits(s, limit)
	return head + suffix
}

// longer tells whether a text has more UTF-16 code units than limit.
func longer(s string, limit int) bool {
	_, cut := cutUnits(s, limit)
	return cut
}

// units is the length of a text in UTF-16 code units.
func units(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if n++; r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/textrepair"
)

// ask calls the model with the conversation as it stands: the contributions, the hooks around the call, the stream, and
// what is told of it. What the first call cuts away stays away; what later ones cut is there again for the next.
func (t *turn) ask(ctx context.Context, first bool) (llm.Response, error) {
	list, err := t.assemble(ctx, t.list)
	if err != nil {
		return llm.Response{}, err
	}
	t.list = list
	t.answerFrom = len(t.segments)
	data := t.llmData(list)
	if _, err := agent.LLMBefore.Run(ctx, t.a.k, &data, nil, kernel.WarnOnStall()); err != nil {
		return llm.Response{}, fmt.Errorf("before the call: %w", err)
	}
	c, err := t.call(ctx, data.Messages, data.Tools, true)
	if err != nil {
		return llm.Response{}, err
	}
	if first {
		t.list = c.req.Messages
	}
	after := agent.LLMAfterData{Response: c.response(), Messages: c.req.Messages}
	if _, err := agent.LLMAfter.Run(ctx, t.a.k, &after, nil); err != nil {
		return llm.Response{}, fmt.Errorf("after the call: %w", err)
	}
	return after.Response, nil
}

// llmData is what the hook before a call sees. The tools are a list of its own, which the hook may change.
func (t *turn) llmData(list []message.Message) agent.LLMData {
	return agent.LLMData{
		Messages: list, Tools: slices.Clone(t.tools), SessionID: t.msg.SessionID, UserID: t.msg.UserID,
		Platform: t.msg.Platform, TriggerType: triggerOf(t.msg), DryRun: t.dryRun,
	}
}

// call makes one call, of the next preferred model too if this one fails in a way for which the bot's declaration allows
// that and nothing of the reply was seen yet. Report says whether what fills the window is told.
func (t *turn) call(
	ctx context.Context, list []message.Message, tools []message.ToolDefinition, report bool,
) (*call, error) {
	tools = t.economize(tools)
	for {
		fit := t.counts.trim(list, t.window.budget, t.cfg.MemoryTokenBudget)
		if fit.stage != "" {
			t.log().Info("Trimmed the prompt", "stage", fit.stage, "tokens", fit.total, "budget", t.window.budget,
				"messages", len(fit.list), "before", len(list))
		}
		if report {
			t.tellUsage(ctx, fit, tools)
		}
		c := t.newCall(fit, tools)
		grant, err := t.reserve(ctx, c)
		if err != nil {
			return nil, err
		}
		usage, err := c.chat(ctx)
		grant.Settle(usage)
		if err == nil {
			t.spent.add(c.usage)
			t.segments = append(t.segments, c.segments()...)
			return c, nil
		}
		if c.answered || ctx.Err() != nil || !t.fallOver(err) {
			return nil, &callError{err}
		}
	}
}

// fallOver goes on to the next preferred model for the rest of the turn, if the failure of this one allows it and there is
// one.
func (t *turn) fallOver(err error) bool {
	if !llm.MayFallOver(err, llm.FallbackOn(t.a.k)) {
		return false
	}
	failed := t.model.Info()
	models := llm.Candidates(t.a.k, llm.Ref{Provider: failed.Provider, ID: failed.ID}, llm.CapChat)
	if len(models) < 2 {
		return false
	}
	t.log().Warn("Fell over to the next model", "from", failed.Entry(), "to", models[1].Info().Entry(),
		"cause", llm.CauseOf(err), "error", err)
	t.use(models[1])
	return true
}

// repaired is what the model said, without what a server or the model itself got wrong on the way.
func (t *turn) repaired(content string) (string, bool) {
	out, removed := textrepair.StripDSML(content)
	if removed {
		t.log().Warn("Removed markers of tool calls that the server failed to read")
	}
	return textrepair.FixTables(out), removed
}

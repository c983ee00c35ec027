// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// anchors in the order in which their blocks are placed. Each place is looked for when it is that anchor's turn.
var anchors = [...]struct {
	name  agent.Anchor
	place func([]message.Message) int // -1 means that there is none, and the blocks are left out
}{
	{agent.AnchorIdentity, afterFirstSystem},
	{agent.AnchorKnowledge, endOfHead},
	{agent.AnchorContext, endOfHead},
	{agent.AnchorTurnContext, beforeTurn},
	{agent.AnchorTurnHint, beforeLastUser},
}

// ofTurn are the agent's own system messages that belong to one turn.
var ofTurn = [...]string{injectorOther, injectorVolatile, injectorFocus, injectorDelegation}

// block is one text of a contribution.
type block struct{ key, text string }

// assemble adds to the list what other plugins contribute. What stands in it already, from an earlier call of the same
// turn, is not built again. A contribution that fails or takes too long is left out, and tried again the next time.
func (t *turn) assemble(ctx context.Context, list []message.Message) ([]message.Message, error) {
	pending := t.pending(list)
	if len(pending) == 0 {
		return list, nil
	}
	blocks, err := t.build(ctx, pending, list)
	if err != nil {
		return nil, err
	}
	for _, a := range anchors {
		if len(blocks[a.name]) == 0 {
			continue
		}
		at := a.place(list)
		if at < 0 {
			t.log().Debug("Found no place for Contributions", "anchor", a.name)
			continue
		}
		materialised := make([]message.Message, len(blocks[a.name]))
		for i, b := range blocks[a.name] {
			materialised[i] = system(b.key, b.text)
		}
		list = slices.Insert(list, at, materialised...)
	}
	return list, nil
}

// pending collects the contributions that the list does not hold yet, sorted by key.
func (t *turn) pending(list []message.Message) []kernel.Contribution[agent.Contribution] {
	all := agent.Prompt.Collect(t.a.k)
	return slices.DeleteFunc(all, func(c kernel.Contribution[agent.Contribution]) bool {
		if slices.ContainsFunc(list, func(m message.Message) bool {
			return m.Role == message.RoleSystem && m.Injector() == c.Key
		}) {
			return true
		}
		for _, a := range anchors {
			if a.name == c.Spec.Anchor {
				return false
			}
		}
		t.log().Warn("Left out Contribution with an unknown anchor", "key", c.Key, "anchor", c.Spec.Anchor)
		return true
	})
}

// built is what one contribution gave.
type built struct {
	index int
	texts []string
	err   error
}

// build runs all contributions at the same time, each within the time limit, and gives their blocks by anchor, in the
// order of keys. The error is that the turn was aborted meanwhile.
func (t *turn) build(
	ctx context.Context, pending []kernel.Contribution[agent.Contribution], list []message.Message,
) (map[agent.Anchor][]block, error) {
	limit := t.cfg.buildTimeout()
	limited, cancel := context.WithCancel(ctx)
	if limit > 0 {
		limited, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	view := agent.PromptView{
		SessionID: t.msg.SessionID, UserID: t.msg.UserID, Platform: t.msg.Platform, TriggerType: triggerOf(t.msg),
		DryRun: t.dryRun, Messages: slices.Clone(list),
	}
	results := make(chan built, len(pending))
	for i, c := range pending {
		t.a.k.Go("prompt:"+c.Key, func(context.Context) {
			texts, err := buildOne(limited, c.Spec, view)
			results <- built{i, texts, err}
		})
	}
	done := gather(limited, results, len(pending))
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("building the prompt: %w", context.Cause(ctx))
	}
	blocks := map[agent.Anchor][]block{}
	for i, c := range pending {
		switch b := done[i]; {
		case b == nil:
			t.log().Warn("Left out Contribution that took too long", "key", c.Key, "limit", limit)
		case b.err != nil:
			t.log().Warn("Left out Contribution that failed", "key", c.Key, "limit", limit, "error", b.err)
		default:
			for _, text := range b.texts {
				if text != "" {
					blocks[c.Spec.Anchor] = append(blocks[c.Spec.Anchor], block{c.Key, text})
				}
			}
		}
	}
	return blocks, nil
}

// gather waits for n results or until ctx ends. What is missing is nil.
func gather(ctx context.Context, results <-chan built, n int) []*built {
	done := make([]*built, n)
	for range n {
		select {
		case b := <-results:
			done[b.index] = &b
			continue
		default:
		}
		select {
		case b := <-results:
			done[b.index] = &b
		case <-ctx.Done():
			return done
		}
	}
	return done
}

func buildOne(ctx context.Context, c agent.Contribution, view agent.PromptView) (texts []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			texts, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return c.Build(ctx, view)
}

// afterFirstSystem is the place behind the first system message, or the front.
func afterFirstSystem(list []message.Message) int {
	return 1 + slices.IndexFunc(list, func(m message.Message) bool { return m.Role == message.RoleSystem })
}

// endOfHead is the place before the first message that is no system message, or the end. What belongs to this turn alone
// ends the head too: without a history it would otherwise stand inside, and the next turn would have another beginning.
func endOfHead(list []message.Message) int {
	return orEnd(list, slices.IndexFunc(list, func(m message.Message) bool {
		return m.Role != message.RoleSystem || slices.Contains(ofTurn[:], m.Injector())
	}))
}

// beforeTurn is the place before what belongs to this turn alone, or the end.
func beforeTurn(list []message.Message) int {
	for _, injector := range []string{injectorDelegation, injectorVolatile} {
		if i := slices.IndexFunc(list, func(m message.Message) bool { return m.Injector() == injector }); i >= 0 {
			return i
		}
	}
	return orEnd(list, beforeLastUser(list))
}

// beforeLastUser is the place before the last message of a user, or -1.
func beforeLastUser(list []message.Message) int {
	for i, m := range slices.Backward(list) {
		if m.Role == message.RoleUser {
			return i
		}
	}
	return -1
}

func orEnd(list []message.Message, i int) int {
	if i < 0 {
		return len(list)
	}
	return i
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// sourceIdle is the source of turns that no message caused, so that there is nothing to store.
const sourceIdle = "idle-trigger"

// turn is one message on its way to a reply. It belongs to one goroutine.
type turn struct {
	a           *conductor
	cfg         *Config // of the whole turn
	msg         message.Incoming
	metadata    map[string]any // shared by the first and the last hook
	began       time.Time
	persona     persona.Provider // nil if there is none
	personaOpts persona.Options
	personaName string
	archived    *message.Message // the stored form of msg; nil if it was not stored

	session  session.Config
	toolCall tools.CallContext
	tools    []message.ToolDefinition // all that this session may use
	model    llm.Model
	window   window // of the model
	counts   *counts
	list     []message.Message // the conversation so far, as the next call is to see it
	dryRun   bool              // nothing is asked: the turn only measures

	segments         []message.Segment // of all calls and tools, in the order in which they came
	answerFrom       int               // the first segment of the answer, behind those of the calls that led to it
	lastStamp        int64
	toolLimitReached bool
	readOnly         bool // budgets are nearly used: only tools that change nothing
	spent            spent
	ended            bool // the end of the stream was told
	settled          bool // agent:turn:after was run
	outcome          agent.Outcome
	failure          error // why there is no reply
	replied          bool  // the reply was sent
}

func newTurn(a *conductor, m message.Incoming) *turn {
	return &turn{a: a, cfg: a.cfg.Load(), msg: m, metadata: map[string]any{}, began: a.k.Now()}
}

func (t *turn) log() *slog.Logger { return t.a.k.Logger().With("sessionId", t.msg.SessionID) }

// run takes the message through the input hook and answers it, unless a handler swallowed it.
func (t *turn) run(ctx context.Context) {
	data := agent.InputData{Message: t.msg, Metadata: t.metadata}
	entered := false
	err := guard(func() error {
		_, err := agent.InputBefore.Run(ctx, t.a.k, &data, func(ctx context.Context) error {
			entered = true
			t.msg, t.metadata = data.Message, data.Metadata
			if err := guard(func() error { return t.answer(ctx) }); err != nil {
				t.fail(ctx, err)
			}
			return nil
		})
		return err
	})
	switch {
	case entered && err != nil:
		t.log().Warn("Failed to end the input hook", "error", err)
	case entered:
	case err != nil:
		t.fail(ctx, fmt.Errorf("before the turn: %w", err))
	default:
		t.log().Debug("Swallowed Incoming in the input hook")
		t.endStream(ctx)
	}
}

// answer is the turn itself. Its error goes to fail.
func (t *turn) answer(ctx context.Context) error {
	t.archive(ctx)
	t.configure()
	if err := t.chooseModel(); err != nil {
		return err
	}
	t.list = t.buildMessages(ctx)
	last := lastAssistant(t.list)
	response, err := t.converse(ctx)
	if err != nil {
		return err
	}
	return t.reply(ctx, response, last)
}

// archive stores the message before anything that can fail, and whether or not the turn is aborted meanwhile.
func (t *turn) archive(ctx context.Context) {
	if t.msg.Source == sourceIdle {
		return
	}
	a, ok := archive.Service.Get(t.a.k)
	if !ok {
		return
	}
	ctx, cancel := settle(ctx)
	defer cancel()
	stored, err := a.ArchiveIncoming(ctx, t.msg)
	if err != nil {
		t.log().Warn("Failed to archive Incoming", "error", err)
		return
	}
	t.archived = &stored
}

// fail ends a turn that has no reply, and tells its sender why unless the sender, or who acts for it, ended it.
func (t *turn) fail(ctx context.Context, err error) {
	if t.replied {
		t.log().Error("Failed after the reply was sent", "error", err)
		t.finish(ctx, agent.Replied, "")
		return
	}
	t.failure = err
	outcome, text := agent.Failed, ""
	lang := i18n.Of(t.a.k)
	why, none := isNoModel(err)
	refused, overBudget := refusal(err)
	switch {
	case overBudget && ctx.Err() == nil:
		t.log().Info("Stopped turn by a budget", "reason", err)
		text = refused.Notice(lang)
	case none:
		t.log().Warn("Found no model", "reason", err)
		text = why.Notice(lang)
	case wasAborted(ctx):
		t.log().Info("Aborted turn", "cause", context.Cause(ctx))
		outcome = agent.Aborted
	case errors.Is(ctx.Err(), context.Canceled):
		t.log().Info("Cut off turn", "cause", context.Cause(ctx))
		outcome, text = agent.Aborted, i18n.Interrupted().Notice(lang)
	default:
		t.log().Error("Failed turn", "error", err)
		text = explain(err, lang)
	}
	if text != "" {
		t.a.say(ctx, t.msg, text)
	}
	t.endStream(ctx)
	t.finish(ctx, outcome, "")
}

// wasAborted tells whether the agent ended the turn because somebody wanted that.
func wasAborted(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errSuperseded) || errors.Is(cause, errAborted)
}

// streamChunk is what all pieces of the turn's stream have in common.
func (t *turn) streamChunk() message.StreamChunk {
	return message.StreamChunk{SessionID: t.msg.SessionID, Platform: t.msg.Platform, TurnID: t.msg.TurnID}
}

// endStream tells once that no more pieces will come.
func (t *turn) endStream(ctx context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	ctx, cancel := settle(ctx)
	defer cancel()
	end := t.streamChunk()
	end.Done, end.ToolLimitReached = true, t.toolLimitReached
	message.Stream.Emit(ctx, t.a.k, end)
}

// finish runs agent:turn:after, once. What goes wrong there is no longer the sender's concern.
func (t *turn) finish(ctx context.Context, outcome agent.Outcome, reply string) {
	if t.settled {
		return
	}
	t.settled, t.outcome = true, outcome
	ctx, cancel := settle(ctx)
	defer cancel()
	data := agent.TurnData{
		Message: t.msg, Reply: reply, Outcome: outcome, SessionID: t.msg.SessionID,
		Duration: t.a.k.Now().Sub(t.began), Metadata: t.metadata,
	}
	if _, err := agent.TurnAfter.Run(ctx, t.a.k, &data, nil); err != nil {
		t.log().Warn("Failed to run the hook after the turn", "error", err)
	}
}

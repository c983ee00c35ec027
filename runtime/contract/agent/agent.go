// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the contract of the conversation orchestrator: its service, the hooks around a turn, the point
// where others add to its prompt, and what it tells of its work.
package agent

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service agent.
var Service = kernel.NewService[Agent]("agent")

// ModelSetting is the top-level config key of the bot's default model (spec.model of an AgentInstance).
var ModelSetting = kernel.NewSetting[llm.Ref]("model")

// Agent answers messages.
type Agent interface {
	// HandleMessage runs one turn and returns when it has ended. It aborts a running turn of the same lane
	// first. What goes wrong is told to the user and to the log, not to the caller.
	HandleMessage(ctx context.Context, m message.Incoming)
	// Abort ends the running turns of a session, in all its lanes.
	Abort(sessionID string)
	// AbortTurn ends the turn of one message, by its TurnID, if it still runs.
	AbortTurn(turnID string)
	// DefaultModel is the entry id of the model that answers when a session has chosen none, or an error that
	// says in a sentence why there is none.
	DefaultModel() (entryID string, err error)
	// RegisterPreprocessor has fn see every message before its turn, behind those that are there already; one of
	// the same name is replaced. It ends with the agent: whoever outlives that uses UsePreprocessor.
	RegisterPreprocessor(name string, fn Preprocessor) (off func())
	// Preprocessors lists the names of the registered ones, in their order.
	Preprocessors() []string
}

// Preprocessor looks at a message before its turn and may change it. One that does not call next swallows it.
type Preprocessor func(ctx context.Context, m *message.Incoming, next kernel.Next) error

// UsePreprocessor registers fn with every agent that comes, for as long as the context lives.
func UsePreprocessor(k *kernel.Context, name string, fn Preprocessor) (off func()) {
	return Service.When(k, func(a Agent) func() { return a.RegisterPreprocessor(name, fn) })
}

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	Replied Outcome = "replied"
	Silent  Outcome = "silent"
	Aborted Outcome = "aborted"
	Failed  Outcome = "error"
)

// InputData is the data of InputBefore. A handler that does not call next swallows the message.
type InputData struct {
	Message  message.Incoming
	Metadata map[string]any
}

// LLMData is the data of LLMBefore: the request about to be made.
type LLMData struct {
	Messages    []message.Message
	Tools       []message.ToolDefinition
	SessionID   string
	UserID      string
	Platform    string
	TriggerType message.TriggerType
	DryRun      bool
}

// LLMAfterData is the data of LLMAfter. Replacing Response replaces the reply.
type LLMAfterData struct {
	Response llm.Response
	Messages []message.Message
}

// ReplyData is the data of ReplyBefore. Content is what will be sent; ArchiveContent, if set, is what is stored
// instead of the model's own text.
type ReplyData struct {
	Content        string
	ArchiveContent string
	SessionID      string
	Platform       string
	UserID         string
	TriggerType    message.TriggerType
	// Attempt counts from 0. A handler that sets RetryRequested asks for another reply, with RetryFeedback told to
	// the model; the first run's MaxRetries bounds how often.
	Attempt        int
	RetryRequested bool
	RetryFeedback  string
	MaxRetries     int
}

// ToolBeforeData is the data of ToolBefore: the call about to be made. Not calling next does not prevent it.
type ToolBeforeData struct {
	Name string
	Args map[string]any
	Call tools.CallContext
}

// ToolAfterData is the data of ToolAfter. Replacing Result replaces what the model is told.
type ToolAfterData struct {
	Name   string
	Result string
	Call   tools.CallContext
}

// TurnData is the data of TurnAfter.
type TurnData struct {
	Message   message.Incoming
	Reply     string
	Outcome   Outcome
	SessionID string
	Duration  time.Duration
	Metadata  map[string]any
}

// The hooks around a turn.
var (
	InputBefore = kernel.NewHook[InputData]("agent:input:before")
	LLMBefore   = kernel.NewHook[LLMData]("agent:llm:before")
	LLMAfter    = kernel.NewHook[LLMAfterData]("agent:llm:after")
	ToolBefore  = kernel.NewHook[ToolBeforeData]("agent:tool:before")
	ToolAfter   = kernel.NewHook[ToolAfterData]("agent:tool:after")
	ReplyBefore = kernel.NewHook[ReplyData]("agent:reply:before")
	TurnAfter   = kernel.NewHook[TurnData]("agent:turn:after")
)

// Anchor is a place in the prompt.
type Anchor string

// The anchors, in their order.
const (
	AnchorIdentity    Anchor = "identity"
	AnchorKnowledge   Anchor = "knowledge"
	AnchorContext     Anchor = "context"
	AnchorTurnContext Anchor = "turn-context"
	AnchorTurnHint    Anchor = "turn-hint"
)

// Contribution adds blocks to the prompt. Build gives none, one or more texts; it is bounded in time, and its
// error or panic only leaves it out of this round.
type Contribution struct {
	Anchor Anchor
	Build  func(ctx context.Context, view PromptView) ([]string, error)
}

// PromptView is what a contribution may look at. Messages is a snapshot that it must not change.
type PromptView struct {
	SessionID   string
	UserID      string
	Platform    string
	TriggerType message.TriggerType
	DryRun      bool
	Messages    []message.Message
}

// Prompt is the point where plugins add to the prompt.
var Prompt = kernel.NewPoint[Contribution]("agent:prompt")

// Purpose says what a model was called for.
type Purpose string

// The purposes of calls: the turn of a conversation, and what goes on beside it.
const (
	PurposeTurn      Purpose = "turn"
	PurposeSummary   Purpose = "summary"
	PurposeTitle     Purpose = "title"
	PurposeEmbedding Purpose = "embedding"
	PurposeVision    Purpose = "vision"
)

// CallDone tells of one finished call of a model, for measuring. It is emitted once per call, failed or not.
type CallDone struct {
	Purpose Purpose
	// SessionID and UserID are those of the conversation; empty when there is none. They never become labels.
	SessionID string
	UserID    string
	Provider  string
	Model     string
	Persona   string
	Platform  string
	Streaming bool
	// Usage of the call: the provider's own, or our count when Estimated is set.
	Usage     llm.Usage
	Estimated bool
	// Frame says what became of what the provider told; empty for a call that failed before it could tell anything.
	Frame    llm.Verdict
	Duration time.Duration
	// FirstToken is the time until the first piece of the reply; 0 if there was none.
	FirstToken time.Duration
	// Price of the model; nil when none is declared.
	Price *llm.Price
	// Err is nil, or why the call failed.
	Err error
}

// LLMCall is the event of CallDone.
var LLMCall = kernel.NewEvent[CallDone]("agent:llm:call")

// TokenUsage tells what fills the context window, before each call of a model. Counts are in tokens.
type TokenUsage struct {
	SessionID     string         `json:"sessionId"`
	Platform      string         `json:"platform,omitempty"`
	ContextWindow int            `json:"contextWindow"`
	MaxTokens     int            `json:"maxTokens"`
	TokenBudget   int            `json:"tokenBudget"`
	Used          int            `json:"used"`
	UsageRatio    float64        `json:"usageRatio"` // used over contextWindow; 0 if the window is 0
	Breakdown     TokenBreakdown `json:"breakdown"`
}

// TokenBreakdown says where the tokens are. Persona to SystemOther add up to System, and System, History, ToolResults and
// ToolDefs to what is used. Injectors says of SystemOther who put it there, by the last part of the injector.
type TokenBreakdown struct {
	System           int            `json:"system"`
	Persona          int            `json:"persona"`
	MemorySummary    int            `json:"memorySummary"`
	MemoryVector     int            `json:"memoryVector"`
	Skills           int            `json:"skills"`
	Platform         int            `json:"platform"`
	Subtask          int            `json:"subtask"`
	SystemOther      int            `json:"systemOther"`
	History          int            `json:"history"`
	ToolResults      int            `json:"toolResults"`
	ToolDefs         int            `json:"toolDefs"`
	ReservedForReply int            `json:"reservedForReply"`
	Injectors        map[string]int `json:"injectors,omitempty"`
}

// The events of token usage: Usage is told, and UsageRequest asks for a snapshot of a session, by its id.
var (
	Usage        = kernel.NewEvent[TokenUsage]("token:usage")
	UsageRequest = kernel.NewEvent[string]("token:request")
)

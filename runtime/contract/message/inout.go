// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import "github.com/aalis-dev/aalis-operator/runtime/kernel"

// SessionType says what kind of conversation a message belongs to.
type SessionType string

// The kinds of sessions.
const (
	SessionPrivate SessionType = "private"
	SessionGroup   SessionType = "group"
	SessionChannel SessionType = "channel"
)

// TriggerType says why a turn happens. An empty value is read as TriggerDirect.
type TriggerType string

// The reasons for a turn.
const (
	TriggerDirect    TriggerType = "direct"
	TriggerImmediate TriggerType = "immediate"
	TriggerInterval  TriggerType = "interval"
	TriggerIdle      TriggerType = "idle"
	TriggerProactive TriggerType = "proactive"
)

// Incoming is a message that came in on a platform.
type Incoming struct {
	Content   string `json:"content"`
	SessionID string `json:"sessionId"`
	Platform  string `json:"platform"`
	UserID    string `json:"userId,omitempty"`
	Nickname  string `json:"nickname,omitempty"`
	MessageID string `json:"messageId,omitempty"`
	// TurnID is chosen by the platform and copied to everything that answers this message, so that a platform
	// that serves several requests in one session can tell their answers apart. It may be empty.
	TurnID      string       `json:"turnId,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Descriptions of the attachments, by their index; what is missing or empty has none.
	Descriptions []string    `json:"attachmentDescriptions,omitempty"`
	SessionType  SessionType `json:"sessionType,omitempty"`
	// Source is the concurrency lane; an empty value is the lane "user".
	Source    string `json:"source,omitempty"`
	GroupID   string `json:"groupId,omitempty"`
	GroupName string `json:"groupName,omitempty"`
	// SenderRole and SelfRole are owner, admin or member of the group, for the sender and for the bot itself.
	SenderRole  string      `json:"senderRole,omitempty"`
	SenderTitle string      `json:"senderTitle,omitempty"`
	SelfRole    string      `json:"selfRole,omitempty"`
	SelfTitle   string      `json:"selfTitle,omitempty"`
	ReplyTo     *Quote      `json:"replyTo,omitempty"`
	NoticeType  string      `json:"noticeType,omitempty"`
	TriggerType TriggerType `json:"triggerType,omitempty"`
	// Actor is the identity to act under, set by system triggers only and never by a model.
	Actor *Actor `json:"actor,omitempty"`
}

// Quote is the message that an Incoming replies to.
type Quote struct {
	MessageID string `json:"messageId,omitempty"`
	Content   string `json:"content,omitempty"`
	UserID    string `json:"userId,omitempty"`
	Nickname  string `json:"nickname,omitempty"`
}

// Actor is a person on a platform, under whose authority something is done.
type Actor struct {
	Platform string `json:"platform"`
	UserID   string `json:"userId"`
}

// OutgoingSource says who wrote an Outgoing.
type OutgoingSource string

// The writers of outgoing messages.
const (
	FromAgent   OutgoingSource = "agent"
	FromSystem  OutgoingSource = "system"
	FromCommand OutgoingSource = "command"
)

// Outgoing is a message to be shown on a platform.
type Outgoing struct {
	Content          string         `json:"content"`
	SessionID        string         `json:"sessionId"`
	Platform         string         `json:"platform,omitempty"`
	TurnID           string         `json:"turnId,omitempty"`
	ReasoningContent string         `json:"reasoningContent,omitempty"`
	Segments         []Segment      `json:"segments,omitempty"`
	Attachments      []Attachment   `json:"attachments,omitempty"`
	Source           OutgoingSource `json:"source,omitempty"`
	ModelInfo        *ModelInfo     `json:"modelInfo,omitempty"`
	// Interim tells that the turn goes on after this, such as after a question: whoever waits for the reply goes on waiting.
	Interim bool `json:"interim,omitempty"`
}

// ModelInfo says which model wrote a reply and what it took. PromptTokens are those of the last call of the turn,
// CompletionTokens the sum over all calls, TotalTokens the sum of both.
type ModelInfo struct {
	Provider         string `json:"provider"`
	Model            string `json:"model"`
	PromptTokens     int    `json:"promptTokens,omitempty"`
	CompletionTokens int    `json:"completionTokens,omitempty"`
	TotalTokens      int    `json:"totalTokens,omitempty"`
	ElapsedMs        int64  `json:"elapsedMs,omitempty"`
}

// StreamChunk is a piece of a reply while it is being written.
type StreamChunk struct {
	SessionID        string
	Platform         string
	TurnID           string
	ContentDelta     string
	ReasoningDelta   string
	ToolCallProgress *ToolCallProgress
	Done             bool
	ToolLimitReached bool
}

// ToolCallProgress tells how far a model is in writing a tool call.
type ToolCallProgress struct {
	Index            int
	Name             string
	CharsAccumulated int
}

// The events that carry messages. Their names are those of the architecture.
var (
	// Inbound: a platform received a message.
	Inbound = kernel.NewEvent[Incoming]("inbound:message")
	// InboundArchived: an incoming message was stored.
	InboundArchived = kernel.NewEvent[Archived]("inbound:message:archived")
	// Outbound: a reply is to be shown.
	Outbound = kernel.NewEvent[Outgoing]("outbound:message")
	// Stream: a reply grew.
	Stream = kernel.NewEvent[StreamChunk]("outbound:stream")
)

// Archived is the payload of InboundArchived.
type Archived struct {
	SessionID string
	Incoming  Incoming
	Message   Message
}

// Unattended tells whether the source of a message is one where nobody could confirm anything or read an answer. Only
// plugins set a source; what people send has none.
func Unattended(source string) bool {
	switch source {
	case "scheduler", "workflow", "system":
		return true
	}
	return false
}

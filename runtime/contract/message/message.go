// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

// Role says who speaks in a Message. A role outside the four standard ones (such as RoleNotice) never reaches a
// model as it is: llm.Prepare maps it.
type Role string

// The roles that the runtime itself uses.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleNotice    Role = "notice"
)

// Kinds of messages that are more than plain speech.
const (
	// KindEventMarker marks an event in the history for the machine only; it is kept out of every prompt.
	KindEventMarker = "event-marker"
	// KindCrossSessionDelegation is a task that the same agent handed over from another session.
	KindCrossSessionDelegation = "cross-session-delegation"
	// KindOutboundImage, KindOutboundAudio and KindOutboundVideo mark media that the bot itself sent.
	KindOutboundImage = "outbound-image"
	KindOutboundAudio = "outbound-audio"
	KindOutboundVideo = "outbound-video"
)

// Message is one entry of a conversation, in the shape of the OpenAI protocol plus what the runtime keeps with it.
// Metadata never reaches a model.
type Message struct {
	Role             Role           `json:"role"`
	Content          string         `json:"content"`
	ToolCalls        []ToolCall     `json:"toolCalls,omitempty"`
	ToolCallID       string         `json:"toolCallId,omitempty"`
	Name             string         `json:"name,omitempty"`
	Kind             string         `json:"kind,omitempty"`
	Timestamp        int64          `json:"timestamp,omitempty"` // milliseconds since the epoch
	ReasoningContent string         `json:"reasoningContent,omitempty"`
	Segments         []Segment      `json:"segments,omitempty"`
	Images           []string       `json:"images,omitempty"` // data URLs or http URLs
	Audios           []string       `json:"audios,omitempty"` // base64, data URLs, paths, file URIs or http URLs
	Metadata         map[string]any `json:"metadata,omitempty"`
}

// MetaInjector is the metadata key that names what put a system message into a prompt.
const MetaInjector = "injector"

// Injector names what put the message into a prompt, or is empty.
func (m Message) Injector() string {
	s, _ := m.Metadata[MetaInjector].(string)
	return s
}

// IsControl tells whether the message is kept out of every prompt.
func (m Message) IsControl() bool { return m.Kind == KindEventMarker }

// ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // always "function"
	Function FunctionCall `json:"function"`
}

// FunctionCall names a tool and its arguments.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON object, as the model wrote it
}

// SegmentType is the kind of a Segment.
type SegmentType string

// The kinds of segments.
const (
	SegmentText          SegmentType = "text"
	SegmentReasoningText SegmentType = "reasoning_text"
	SegmentToolCall      SegmentType = "tool_call"
)

// Segment is a piece of a reply in the order in which it came; the ordered list is authoritative for showing it.
type Segment struct {
	Type      SegmentType    `json:"type"`
	Content   string         `json:"content,omitempty"`
	Name      string         `json:"name,omitempty"`
	Args      map[string]any `json:"args,omitempty"`
	Result    string         `json:"result,omitempty"`
	StartTime int64          `json:"startTime,omitempty"` // milliseconds since the epoch
	EndTime   int64          `json:"endTime,omitempty"`
}

// ToolDefinition describes a tool to a model.
type ToolDefinition struct {
	Type     string       `json:"type"` // always "function"
	Function ToolFunction `json:"function"`
}

// ToolFunction is the callable part of a ToolDefinition. Parameters is a JSON schema of type object.
type ToolFunction struct {
	Name        string         `json:"name"`
	Strict      bool           `json:"strict,omitempty"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llm is the contract between plugins that offer chat models and plugins that use them. Every model is an
// entry of its own of the service llm, with the entry id "<plugin instance id>/<model id>".
package llm

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service llm.
var Service = kernel.NewService[Model]("llm")

// Capability is something that a model can do.
type Capability string

// The capabilities of models.
const (
	CapChat        Capability = "chat"
	CapToolCalling Capability = "tool_calling"
	CapStreaming   Capability = "streaming"
	CapVision      Capability = "vision"
	CapThinking    Capability = "thinking"
	// CapAudio: sounds may be part of a request.
	CapAudio Capability = "audio"
	// CapAudioTranscription: the model writes down what a sound says.
	CapAudioTranscription Capability = "audio_transcription"
	CapVideo              Capability = "video"
)

// Capabilities lists every capability that there is, in the order in which they are shown.
func Capabilities() []Capability {
	return []Capability{
		CapChat, CapToolCalling, CapStreaming, CapVision, CapThinking, CapAudio, CapAudioTranscription, CapVideo,
	}
}

// Info describes a model.
type Info struct {
	// ID of the model at its provider.
	ID string
	// Provider is the plugin instance id.
	Provider string
	// ContextLength in tokens.
	ContextLength int
	// MaxOutputTokens per reply; 0 means unknown, and 4096 is assumed.
	MaxOutputTokens int
	// Capabilities of the model.
	Capabilities []Capability
	// Price is nil when none is declared.
	Price *Price
}

// Entry is the id of the model's entry in the service llm.
func (i Info) Entry() string { return i.Provider + "/" + i.ID }

// Model is a chat model. Its methods may be called concurrently.
type Model interface {
	// Info describes the model.
	Info() Info
	// Chat asks for a whole reply.
	Chat(ctx context.Context, req Request) (Response, error)
	// ChatStream asks for a reply and hands it over in pieces, in order, from the calling goroutine. The last
	// chunk has Done set. An error of onChunk ends the stream and is returned. A model without CapStreaming
	// may hand over the whole reply as one chunk.
	//
	// What goes wrong at the provider, here and in Chat, is an *Error; what is wrong with ctx is ctx's own error.
	ChatStream(ctx context.Context, req Request, onChunk func(Chunk) error) error
}

// Refresher is implemented by models whose provider can be asked for its list of models again.
type Refresher interface {
	// Refresh asks the provider now and registers and withdraws models as it says.
	Refresh(ctx context.Context) (Refreshed, error)
}

// Refreshed says what a Refresh changed, by model id.
type Refreshed struct {
	Added, Removed []string
	// Total is how many models the provider offers now.
	Total int
}

// Request is one call of a model.
type Request struct {
	Messages []message.Message
	Tools    []message.ToolDefinition
	// Temperature overrides the provider's configured one when not nil.
	Temperature *float64
	// MaxTokens overrides the provider's configured limit when over 0.
	MaxTokens int
	// Think asks for, or against, reasoning; nil leaves it to the model.
	Think *bool
	// RequireImages makes a request fail whose images cannot be given to the model, instead of leaving them out.
	RequireImages bool
}

// Response is a whole reply.
type Response struct {
	Content          string
	ToolCalls        []message.ToolCall
	ReasoningContent string
	Usage            *Usage
}

// Chunk is a piece of a reply.
type Chunk struct {
	ContentDelta     string
	ReasoningDelta   string
	ToolCallProgress *message.ToolCallProgress
	// ToolCalls are complete and come with Done.
	ToolCalls []message.ToolCall
	Done      bool
	// Usage may come with any chunk; the last one counts.
	Usage *Usage
}

// Usage is what a provider says that a call took, in tokens.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	TotalTokens      int
	// CachedPromptTokens is nil when the provider does not tell, which is not the same as 0.
	CachedPromptTokens *int
	// ReasoningTokens are the part of CompletionTokens that nobody reads; nil when the provider does not tell.
	ReasoningTokens *int
}

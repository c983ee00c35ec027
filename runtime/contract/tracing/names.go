// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

// The names of spans and attributes, all of them in this file. Those that begin with gen_ai are the semantic conventions of
// OpenTelemetry for generative AI, which are still in development: a change of theirs is a change here.
const (
	// SpanTurn, SpanChat, SpanTool and SpanEmbeddings are followed by the name of the bot, the model, the tool or the model.
	SpanTurn        = "invoke_agent"
	SpanChat        = "chat"
	SpanTool        = "execute_tool"
	SpanEmbeddings  = "embeddings"
	SpanConfigApply = "aalis.config.apply"

	Operation      = "gen_ai.operation.name"
	AgentName      = "gen_ai.agent.name"
	Provider       = "gen_ai.provider.name"
	RequestModel   = "gen_ai.request.model"
	RequestMax     = "gen_ai.request.max_tokens"
	InputTokens    = "gen_ai.usage.input_tokens"
	OutputTokens   = "gen_ai.usage.output_tokens"
	ToolName       = "gen_ai.tool.name"
	ErrorType      = "error.type"
	InputMessages  = "gen_ai.input.messages"      // content
	OutputMessages = "gen_ai.output.messages"     // content
	ToolArguments  = "gen_ai.tool.call.arguments" // content
	ToolResult     = "gen_ai.tool.call.result"    // content
	Conversation   = "gen_ai.conversation.id"     // content

	Platform     = "aalis.platform"
	PersonaName  = "aalis.persona"
	Outcome      = "aalis.turn.outcome"
	Purpose      = "aalis.call.purpose"
	Estimated    = "aalis.usage.estimated"
	CachedTokens = "aalis.usage.cached_tokens"
	FirstToken   = "aalis.first_token.duration"
	Revision     = "aalis.config.revision"
	Sequence     = "aalis.config.sequence"
	ApplyResult  = "aalis.config.result"
)

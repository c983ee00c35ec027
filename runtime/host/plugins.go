// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/agent"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/authority"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/budget"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/commands"
	embeddingollama "github.com/aalis-dev/aalis-operator/runtime/plugins/embedding-ollama"
	embeddingopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/embedding-openai"
	flowcontrol "github.com/aalis-dev/aalis-operator/runtime/plugins/flow-control"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/gateway"
	llmdeepseek "github.com/aalis-dev/aalis-operator/runtime/plugins/llm-deepseek"
	llmollama "github.com/aalis-dev/aalis-operator/runtime/plugins/llm-ollama"
	llmopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/llm-openai"
	memoryhistory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-history"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
	memoryredis "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-redis"
	memorysqlite "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-sqlite"
	memorysummary "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-summary"
	messagearchive "github.com/aalis-dev/aalis-operator/runtime/plugins/message-archive"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/persona"
	platformopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/platform-openai"
	promptbudget "github.com/aalis-dev/aalis-operator/runtime/plugins/prompt-budget"
	sessionconfirm "github.com/aalis-dev/aalis-operator/runtime/plugins/session-confirm"
	sessionmanager "github.com/aalis-dev/aalis-operator/runtime/plugins/session-manager"
	toolsearch "github.com/aalis-dev/aalis-operator/runtime/plugins/tool-search"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/tools"
	triggerpolicy "github.com/aalis-dev/aalis-operator/runtime/plugins/trigger-policy"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/usage"
)

// Modules lists the shipped modules, sorted by name. This is the one place where a plugin is added.
func Modules() []kernel.Module {
	return []kernel.Module{
		agent.Plugin,
		authority.Plugin,
		budget.Plugin,
		commands.Plugin,
		embeddingollama.Plugin,
		embeddingopenai.Plugin,
		flowcontrol.Plugin,
		gateway.Plugin,
		llmdeepseek.Plugin,
		llmollama.Plugin,
		llmopenai.Plugin,
		memoryhistory.Plugin,
		memoryinmemory.Plugin,
		memoryredis.Plugin,
		memorysqlite.Plugin,
		memorysummary.Plugin,
		messagearchive.Plugin,
		persona.Plugin,
		platformopenai.Plugin,
		promptbudget.Plugin,
		sessionconfirm.Plugin,
		sessionmanager.Plugin,
		toolsearch.Plugin,
		tools.Plugin,
		triggerpolicy.Plugin,
		usage.Plugin,
	}
}

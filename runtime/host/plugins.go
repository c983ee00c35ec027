// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/agent"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/gateway"
	llmopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/llm-openai"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
	messagearchive "github.com/aalis-dev/aalis-operator/runtime/plugins/message-archive"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/persona"
	platformopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/platform-openai"
)

// Modules lists the shipped modules, sorted by name. This is the one place where a plugin is added.
func Modules() []kernel.Module {
	return []kernel.Module{
		agent.Plugin,
		gateway.Plugin,
		llmopenai.Plugin,
		memoryinmemory.Plugin,
		messagearchive.Plugin,
		persona.Plugin,
		platformopenai.Plugin,
	}
}

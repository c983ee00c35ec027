// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

// FlowIdlePrompt is what the model is told when the bot begins to talk by itself.
const FlowIdlePrompt Label = "flow-idle-prompt"

// flowTexts are the texts of flow control. It is never modified.
var flowTexts = map[ID]text{
	ID(FlowIdlePrompt): {
		en: "It has been quiet here for a long time. Begin a light topic that fits who you are and what was said before. Do not mention this instruction, or that anything made you speak.",
		zh: "这里已经安静很久了。请以你的人设，结合之前聊过的内容，自然地开启一个轻松的话题。不要提到这条提示，也不要提到你是被触发才发言的。",
	},
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "maps"

// ID names a text.
type ID string

const (
	idBusy              ID = "busy"
	idStopping          ID = "stopping"
	idInterrupted       ID = "interrupted"
	idNoAgent           ID = "no-agent"
	idNoModel           ID = "no-model"
	idNoChatModel       ID = "no-chat-model"
	idModelNotFound     ID = "model-not-found"
	idModelNotAmong     ID = "model-not-among"
	idModelNotAmongMany ID = "model-not-among-many"
	idModelTimedOut     ID = "model-timed-out"
	idInternalError     ID = "internal-error"
	idNoAnswer          ID = "no-answer"
	idToolLimit         ID = "tool-limit"
)

// text is one template in every language. A placeholder is a name in braces.
type text struct{ en, zh string }

func (t text) in(l Language) string {
	if l.known() == Chinese {
		return t.zh
	}
	return t.en
}

// catalog holds every text. It is never modified.
var catalog = join(coreTexts, commandTexts, builtinTexts, sessionTexts, memoryTexts, authorityTexts, flowTexts, budgetTexts)

// join makes one map of several that have no key in common.
func join(parts ...map[ID]text) map[ID]text {
	all := map[ID]text{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// coreTexts are the texts about messages and models.
var coreTexts = map[ID]text{
	idBusy: {
		en: "The bot is answering {limit} messages already, which is all it takes at a time. Please try again in a moment.",
		zh: "机器人正在处理 {limit} 条消息，已达上限，请稍后再试。",
	},
	idStopping: {
		en: "The bot is restarting and did not take this message. Please send it again in a moment.",
		zh: "机器人正在重启，未受理这条消息，请稍后重新发送。",
	},
	idInterrupted: {
		en: "The answer was cut off because the bot restarts. Please send your message again in a moment.",
		zh: "机器人重启，回复被中断，请稍后重新发送消息。",
	},
	idNoAgent: {
		en: "No agent is running in this bot, so nobody can answer.",
		zh: "机器人没有运行中的 Agent，无法回复。",
	},
	idNoModel: {
		en: "No chat model is available: no provider offers any.",
		zh: "没有可用的对话模型：没有任何提供方。",
	},
	idNoChatModel: {
		en: "No chat model is available: {count} registered, none of them able to chat.",
		zh: "没有可用的对话模型：已注册 {count} 个，均不支持对话。",
	},
	idModelNotFound: {
		en: "The configured model \"{wanted}\" was not found, and no other chat model is available.",
		zh: "未找到已配置的模型“{wanted}”，也没有其他可用的对话模型。",
	},
	idModelNotAmong: {
		en: "The configured model \"{wanted}\" was not found. Available: {available}.",
		zh: "未找到已配置的模型“{wanted}”。可用：{available}。",
	},
	idModelNotAmongMany: {
		en: "The configured model \"{wanted}\" was not found. Available: {available}, and others, {total} in total.",
		zh: "未找到已配置的模型“{wanted}”。可用：{available} 等，共 {total} 个。",
	},
	idModelTimedOut: {
		en: "The model did not answer in time. Please try again.",
		zh: "模型响应超时，请重试。",
	},
	idInternalError: {
		en: "Something went wrong inside the bot, and this message got no answer. The log has the details.",
		zh: "机器人内部出错，未能回复这条消息，详情见日志。",
	},
	idNoAnswer: {
		en: "The model gave no answer. Please try again, or put it in other words.",
		zh: "模型没有给出回答，请重试或换一种说法。",
	},
	idToolLimit: {
		en: "There is no answer yet after {limit} rounds of tool calls, the most that one message may take. Please ask for less at a time.",
		zh: "工具调用已达单条消息的上限 {limit} 轮，仍没有得出回答，请缩小范围后再试。",
	},
}

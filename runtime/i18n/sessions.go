// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "strconv"

const (
	idLabelModel            ID = "label-model"
	idLabelPersona          ID = "label-persona"
	idLabelThinking         ID = "label-thinking"
	idLabelSessionName      ID = "label-session-name"
	idLabelModels           ID = "label-models"
	idLabelPersonas         ID = "label-personas"
	idListHead              ID = "list-head"
	idListHeadMatching      ID = "list-head-matching"
	idListNoMatch           ID = "list-no-match"
	idListEmpty             ID = "list-empty"
	idListNextPage          ID = "list-next-page"
	idListSearch            ID = "list-search"
	idNoSessionManager      ID = "no-session-manager"
	idSessionTitle          ID = "session-title"
	idSessionValue          ID = "session-value"
	idSessionChain          ID = "session-chain"
	idSessionUnset          ID = "session-unset"
	idSessionNoRecord       ID = "session-no-record"
	idSessionUsage          ID = "session-usage"
	idSessionBadModel       ID = "session-bad-model"
	idSessionUnknownModel   ID = "session-unknown-model"
	idSessionUnknownPersona ID = "session-unknown-persona"
	idSessionChanged        ID = "session-changed"
	idSessionReset          ID = "session-reset"
	idSessionNothingToReset ID = "session-nothing-to-reset"
	idSourceSession         ID = "source-session"
	idSourceParent          ID = "source-parent"
	idSourcePlatform        ID = "source-platform"
	idSourceDefault         ID = "source-default"
)

// LabelModel names the model that a session uses.
func LabelModel() Message { return Message{id: idLabelModel} }

// LabelPersona names the persona that a session uses.
func LabelPersona() Message { return Message{id: idLabelPersona} }

// LabelThinking names whether a model reasons before it answers.
func LabelThinking() Message { return Message{id: idLabelThinking} }

// LabelSessionName names the name of a session.
func LabelSessionName() Message { return Message{id: idLabelSessionName} }

// LabelModels heads a list of models.
func LabelModels() Message { return Message{id: idLabelModels} }

// LabelPersonas heads a list of personas.
func LabelPersonas() Message { return Message{id: idLabelPersonas} }

// ListHead is the first line of a page of a list.
func ListHead(label string, total int, page int, pages int) Message {
	return Message{id: idListHead, args: []string{"label", label, "total", strconv.Itoa(total), "page", strconv.Itoa(page), "pages", strconv.Itoa(pages)}}
}

// ListHeadMatching is ListHead for a list of what a keyword is part of.
func ListHeadMatching(label string, keyword string, total int, page int, pages int) Message {
	return Message{id: idListHeadMatching, args: []string{"label", label, "keyword", keyword, "total", strconv.Itoa(total), "page", strconv.Itoa(page), "pages", strconv.Itoa(pages)}}
}

// ListNoMatch says that a keyword is part of nothing.
func ListNoMatch(label string, keyword string) Message {
	return Message{id: idListNoMatch, args: []string{"label", label, "keyword", keyword}}
}

// ListEmpty says that there is nothing to list.
func ListEmpty(label string) Message {
	return Message{id: idListEmpty, args: []string{"label", label}}
}

// ListNextPage tells how to see the next page of a list.
func ListNextPage(command string) Message {
	return Message{id: idListNextPage, args: []string{"command", command}}
}

// ListSearch tells how to search a list.
func ListSearch(command string) Message {
	return Message{id: idListSearch, args: []string{"command", command}}
}

// NoSessionManager says that nothing keeps sessions in this bot.
func NoSessionManager() Message { return Message{id: idNoSessionManager} }

// SessionTitle heads what is in effect for a session.
func SessionTitle(name string) Message {
	return Message{id: idSessionTitle, args: []string{"name", name}}
}

// SessionValue says what is in effect for a session and where it comes from.
func SessionValue(label string, value string, source string) Message {
	return Message{id: idSessionValue, args: []string{"label", label, "value", value, "source", source}}
}

// SessionChain lists the layers that decide a value, highest first.
func SessionChain(chain string) Message {
	return Message{id: idSessionChain, args: []string{"chain", chain}}
}

// SessionUnset stands for a value that nothing decides.
func SessionUnset() Message { return Message{id: idSessionUnset} }

// SessionNoRecord says that a session has decided nothing so far.
func SessionNoRecord() Message { return Message{id: idSessionNoRecord} }

// SessionUsage tells how to change what is in effect for a session.
func SessionUsage(prefix string) Message {
	return Message{id: idSessionUsage, args: []string{"prefix", prefix}}
}

// SessionBadModel says that a text is no reference of a model.
func SessionBadModel(value string) Message {
	return Message{id: idSessionBadModel, args: []string{"value", value}}
}

// SessionUnknownModel says that no chat model goes by a reference.
func SessionUnknownModel(value string, total int, command string) Message {
	return Message{id: idSessionUnknownModel, args: []string{"value", value, "total", strconv.Itoa(total), "command", command}}
}

// SessionUnknownPersona says that no persona goes by a name.
func SessionUnknownPersona(value string, total int, command string) Message {
	return Message{id: idSessionUnknownPersona, args: []string{"value", value, "total", strconv.Itoa(total), "command", command}}
}

// SessionChanged says what was set for a session.
func SessionChanged(changes string) Message {
	return Message{id: idSessionChanged, args: []string{"changes", changes}}
}

// SessionReset says that settings of a session were taken back, and what is in effect now.
func SessionReset(model string, persona string) Message {
	return Message{id: idSessionReset, args: []string{"model", model, "persona", persona}}
}

// SessionNothingToReset says that a session had nothing to take back, and what is in effect.
func SessionNothingToReset(model string, persona string) Message {
	return Message{id: idSessionNothingToReset, args: []string{"model", model, "persona", persona}}
}

// SourceSession names the session itself as the source of a value.
func SourceSession() Message { return Message{id: idSourceSession} }

// SourceParent names the parent session as the source of a value.
func SourceParent() Message { return Message{id: idSourceParent} }

// SourcePlatform names a platform's profile as the source of a value.
func SourcePlatform(platform string) Message {
	return Message{id: idSourcePlatform, args: []string{"platform", platform}}
}

// SourceDefault names what is in effect where nothing else decides.
func SourceDefault() Message { return Message{id: idSourceDefault} }

// sessionTexts are the texts of commands about sessions. It is never modified.
var sessionTexts = map[ID]text{
	idLabelModel: {
		en: "Model",
		zh: "模型",
	},
	idLabelPersona: {
		en: "Persona",
		zh: "人设",
	},
	idLabelThinking: {
		en: "Thinking",
		zh: "思考",
	},
	idLabelSessionName: {
		en: "Name",
		zh: "名称",
	},
	idLabelModels: {
		en: "Available models",
		zh: "可用模型",
	},
	idLabelPersonas: {
		en: "Available personas",
		zh: "可用人设",
	},
	idListHead: {
		en: "{label} ({total} in total, page {page}/{pages}):",
		zh: "{label}（共 {total} · 第 {page}/{pages} 页）:",
	},
	idListHeadMatching: {
		en: "{label} (with \"{keyword}\" {total} in total, page {page}/{pages}):",
		zh: "{label}（含\"{keyword}\" 共 {total} · 第 {page}/{pages} 页）:",
	},
	idListNoMatch: {
		en: "{label}: nothing contains \"{keyword}\".",
		zh: "{label}：没有包含“{keyword}”的项。",
	},
	idListEmpty: {
		en: "{label}: (none)",
		zh: "{label}：（无）",
	},
	idListNextPage: {
		en: "Next page: {command}",
		zh: "下一页：{command}",
	},
	idListSearch: {
		en: "Search: {command}",
		zh: "搜索：{command}",
	},
	idNoSessionManager: {
		en: "No session manager runs in this bot, so sessions have no settings of their own.",
		zh: "机器人没有运行会话管理服务，无法使用会话级设置。",
	},
	idSessionTitle: {
		en: "Session: {name}",
		zh: "会话：{name}",
	},
	idSessionValue: {
		en: "{label}: {value} (from: {source})",
		zh: "{label}：{value}（来源：{source}）",
	},
	idSessionChain: {
		en: "  by layers: {chain}",
		zh: "  解析链：{chain}",
	},
	idSessionUnset: {
		en: "not set",
		zh: "未设置",
	},
	idSessionNoRecord: {
		en: "This session has no record yet: all of this is inherited.",
		zh: "此会话尚无记录，以上均为继承值。",
	},
	idSessionUsage: {
		en: "Change: {prefix}session.set -m provider/model -p persona -t on|off -n name\nReset: {prefix}session.reset [-m] [-p] [-t]",
		zh: "设定：{prefix}session.set -m provider/model -p 人设卡名 -t on|off -n 显示名\n复位：{prefix}session.reset [-m] [-p] [-t]",
	},
	idSessionBadModel: {
		en: "A model is given as provider/model, not as \"{value}\".",
		zh: "模型应写作 provider/model，而不是“{value}”。",
	},
	idSessionUnknownModel: {
		en: "There is no chat model \"{value}\" among the {total} available ones; {command} lists them.",
		zh: "可用的 {total} 个对话模型中没有“{value}”，可用 {command} 查看。",
	},
	idSessionUnknownPersona: {
		en: "There is no persona \"{value}\" among the {total} available ones; {command} lists them.",
		zh: "可用的 {total} 个人设中没有“{value}”，可用 {command} 查看。",
	},
	idSessionChanged: {
		en: "Changed for this session: {changes}",
		zh: "已更新此会话：{changes}",
	},
	idSessionReset: {
		en: "The session's own settings are reset. In effect: model {model}, persona {persona}.",
		zh: "会话级覆盖已复位。当前生效：模型 {model}，人设 {persona}。",
	},
	idSessionNothingToReset: {
		en: "The session has no such settings of its own. In effect: model {model}, persona {persona}.",
		zh: "此会话没有相应的会话级覆盖。当前生效：模型 {model}，人设 {persona}。",
	},
	idSourceSession: {
		en: "session override",
		zh: "会话覆盖",
	},
	idSourceParent: {
		en: "the parent session's sessionDefaults",
		zh: "父会话 sessionDefaults",
	},
	idSourcePlatform: {
		en: "platform profile ({platform})",
		zh: "平台 profile ({platform})",
	},
	idSourceDefault: {
		en: "default",
		zh: "默认",
	},
}

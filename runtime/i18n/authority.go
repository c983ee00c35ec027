// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "strconv"

const (
	idAuthorityDenied     ID = "authority-denied"
	idAuthorityLevel      ID = "authority-level"
	idAuthorityNotLoaded  ID = "authority-not-loaded"
	idAuthorityCancelled  ID = "authority-cancelled"
	idAuthorityShown      ID = "authority-shown"
	idAuthorityOwner      ID = "authority-owner"
	idAuthorityTarget     ID = "authority-target"
	idAuthorityOthers     ID = "authority-others"
	idAuthorityOwnersOnly ID = "authority-owners-only"
	idAuthorityInteger    ID = "authority-integer"
	idAuthoritySet        ID = "authority-set"
	idAuthorityIsOwner    ID = "authority-is-owner"
	idAuthorityIsBanned   ID = "authority-is-banned"
	idAuthorityLocked     ID = "authority-locked"
	idAuthorityNotStored  ID = "authority-not-stored"
	idAuthorityFull       ID = "authority-full"
	idAutoOff             ID = "auto-off"
	idAutoForever         ID = "auto-forever"
	idAutoMinutes         ID = "auto-minutes"
	idAutoUsage           ID = "auto-usage"
	idConfirmSession      ID = "confirm-session"
	idConfirmAlways       ID = "confirm-always"
	idConfirmTimedOut     ID = "confirm-timed-out"
	idAuthoritySourceChat ID = "authority-source-chat"
	idAuthoritySourceDecl ID = "authority-source-declared"
	idAuthoritySourceNone ID = "authority-source-default"
)

// AuthorityDenied says that an operation is switched off for everybody.
func AuthorityDenied(capability string) Message {
	return Message{id: idAuthorityDenied, args: []string{"capability", capability}}
}

// AuthorityLevel says that somebody's level is too low for an operation.
func AuthorityLevel(capability string, needed, level int64) Message {
	return Message{id: idAuthorityLevel, args: []string{
		"capability", capability, "needed", strconv.FormatInt(needed, 10), "level", strconv.FormatInt(level, 10),
	}}
}

// AuthorityNotLoaded says that it is not known yet who may do what.
func AuthorityNotLoaded(capability string) Message {
	return Message{id: idAuthorityNotLoaded, args: []string{"capability", capability}}
}

// AuthorityCancelled says that an operation was not confirmed.
func AuthorityCancelled(capability string) Message {
	return Message{id: idAuthorityCancelled, args: []string{"capability", capability}}
}

// AuthorityShown tells somebody's level and where it comes from.
func AuthorityShown(who, level, source string) Message {
	return Message{id: idAuthorityShown, args: []string{"who", who, "level", level, "source", source}}
}

// AuthorityOwner names an owner as the source of a level.
func AuthorityOwner() Message { return Message{id: idAuthorityOwner} }

// AuthoritySourceChat names chat as the source of a level.
func AuthoritySourceChat() Message { return Message{id: idAuthoritySourceChat} }

// AuthoritySourceDeclared names an AuthorityPolicy as the source of a level.
func AuthoritySourceDeclared() Message { return Message{id: idAuthoritySourceDecl} }

// AuthoritySourceDefault says that nothing gave somebody a level.
func AuthoritySourceDefault() Message { return Message{id: idAuthoritySourceNone} }

// AuthorityTarget says how a person is named.
func AuthorityTarget() Message { return Message{id: idAuthorityTarget} }

// AuthorityOthers says that only people of a level may look at the level of others.
func AuthorityOthers(needed int) Message {
	return Message{id: idAuthorityOthers, args: []string{"needed", strconv.Itoa(needed)}}
}

// AuthorityOwnersOnly says that only owners may do something.
func AuthorityOwnersOnly() Message { return Message{id: idAuthorityOwnersOnly} }

// AuthorityInteger says that a level is an integer of 64 bits.
func AuthorityInteger(value string) Message {
	return Message{id: idAuthorityInteger, args: []string{"value", value}}
}

// AuthoritySet says which level somebody has from now on.
func AuthoritySet(who string, level int64) Message {
	return Message{id: idAuthoritySet, args: []string{"who", who, "level", strconv.FormatInt(level, 10)}}
}

// AuthorityIsOwner says that an owner has no level that could be set.
func AuthorityIsOwner(who string) Message {
	return Message{id: idAuthorityIsOwner, args: []string{"who", who}}
}

// AuthorityIsBanned says that an AuthorityPolicy bans somebody, which chat does not lift.
func AuthorityIsBanned(who string) Message {
	return Message{id: idAuthorityIsBanned, args: []string{"who", who}}
}

// AuthorityLocked says that an AuthorityPolicy keeps chat from changing something.
func AuthorityLocked(part string) Message {
	return Message{id: idAuthorityLocked, args: []string{"part", part}}
}

// AuthorityNotStored says that a change could not be stored, so that it does not hold.
func AuthorityNotStored() Message { return Message{id: idAuthorityNotStored} }

// AuthorityFull says that chat has given levels to as many people as there may be.
func AuthorityFull(limit int) Message {
	return Message{id: idAuthorityFull, args: []string{"limit", strconv.Itoa(limit)}}
}

// AutoOff says that owners are asked to confirm.
func AutoOff() Message { return Message{id: idAutoOff} }

// AutoForever says that owners are not asked to confirm, without an end.
func AutoForever() Message { return Message{id: idAutoForever} }

// AutoMinutes says for how long owners are not asked to confirm.
func AutoMinutes(minutes int64) Message {
	return Message{id: idAutoMinutes, args: []string{"minutes", strconv.FormatInt(minutes, 10)}}
}

// AutoUsage tells how /auto is used.
func AutoUsage() Message { return Message{id: idAutoUsage} }

// ConfirmSession asks for a confirmation that may hold for a while.
func ConfirmSession(operation string, minutes int) Message {
	return Message{id: idConfirmSession, args: []string{"operation", operation, "minutes", strconv.Itoa(minutes)}}
}

// ConfirmAlways asks for a confirmation that holds once.
func ConfirmAlways(operation string) Message {
	return Message{id: idConfirmAlways, args: []string{"operation", operation}}
}

// ConfirmTimedOut says that nobody answered in time, so that the operation does not run.
func ConfirmTimedOut(operation string) Message {
	return Message{id: idConfirmTimedOut, args: []string{"operation", operation}}
}

// authorityTexts are the texts about who may do what. It is never modified.
var authorityTexts = map[ID]text{
	idAuthorityDenied: {
		en: "Switched off for everybody: {capability}", zh: "已被系统禁用: {capability}",
	},
	idAuthorityLevel: {
		en: "Not permitted: \"{capability}\" needs level {needed} (yours is {level}).",
		zh: "权限不足: \"{capability}\" 需等级 {needed}（当前 {level}）",
	},
	idAuthorityNotLoaded: {
		en: "\"{capability}\" is refused until the bot has read who may do what. Try again in a moment.",
		zh: "权限数据尚未读取完毕，“{capability}”暂不可用，请稍后再试。",
	},
	idAuthorityCancelled: {
		en: "Cancelled: {capability} runs only when it is confirmed.", zh: "操作已取消：{capability} 需确认后执行",
	},
	idAuthorityShown:      {en: "{who}: level {level} ({source})", zh: "{who}：等级 {level}（{source}）"},
	idAuthorityOwner:      {en: "owner", zh: "所有者"},
	idAuthoritySourceChat: {en: "given in chat", zh: "聊天中设置"},
	idAuthoritySourceDecl: {en: "declared", zh: "配置声明"},
	idAuthoritySourceNone: {en: "not set", zh: "未设置"},
	idAuthorityTarget: {
		en: "A person is named as platform:userId, for example onebot:10001.", zh: "请用 平台:用户ID 指明对象，例如 onebot:10001。",
	},
	idAuthorityOthers: {
		en: "The level of others is shown from level {needed} on.", zh: "查看他人等级需要等级 {needed} 以上。",
	},
	idAuthorityOwnersOnly: {en: "Only an owner may do this.", zh: "仅所有者可执行此操作。"},
	idAuthorityInteger: {
		en: "A level is an integer of at most 64 bits, not \"{value}\".", zh: "等级必须是 64 位以内的整数，收到“{value}”。",
	},
	idAuthoritySet: {en: "{who} has level {level} now.", zh: "已将 {who} 的等级设为 {level}。"},
	idAuthorityIsOwner: {
		en: "{who} is an owner: owners stand outside the levels.", zh: "{who} 是所有者，不在等级轴上，无法设置等级。",
	},
	idAuthorityIsBanned: {
		en: "{who} is banned by an AuthorityPolicy, which chat does not lift.", zh: "{who} 已被 AuthorityPolicy 封禁，聊天中无法解除。",
	},
	idAuthorityLocked: {
		en: "An AuthorityPolicy locks this: {part}", zh: "AuthorityPolicy 已锁定此项：{part}",
	},
	idAuthorityNotStored: {
		en: "The change could not be stored, so nothing has changed. The log has the details.",
		zh: "变更未能保存，因此未生效，详情见日志。",
	},
	idAuthorityFull: {
		en: "Chat may give levels to at most {limit} people.", zh: "聊天中最多可为 {limit} 人设置等级。",
	},
	idAutoOff:     {en: "Automatic confirmation is off.", zh: "自动确认：已关闭。"},
	idAutoForever: {en: "Automatic confirmation is on, without an end.", zh: "自动确认：一直开启。"},
	idAutoMinutes: {
		en: "Automatic confirmation is on for {minutes} more minute(s).", zh: "自动确认：剩余 {minutes} 分钟。",
	},
	idAutoUsage: {
		en: "Usage: /auto [minutes|on|off], with a whole number of minutes up to 525600.",
		zh: "用法：/auto [分钟数|on|off]，分钟数为不超过 525600 的整数。",
	},
	idConfirmSession: {
		en: "{operation} must be confirmed. Reply Y to run it once, YS to allow it for {minutes} minutes in this conversation; anything else cancels.",
		zh: "{operation} 需要确认：回复 Y 执行一次，YS 在本会话 {minutes} 分钟内不再询问，其它回复取消。",
	},
	idConfirmAlways: {
		en: "{operation} must be confirmed. Reply Y to run it this time; anything else cancels.",
		zh: "{operation} 需要确认：回复 Y 执行本次，其它回复取消。",
	},
	idConfirmTimedOut: {
		en: "Nobody confirmed {operation} in time, so it was cancelled.", zh: "{operation} 确认超时，已取消。",
	},
}

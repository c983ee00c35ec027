// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "strconv"

// What commands answer when they do not run.
const (
	idCommandUnknown     ID = "command-unknown"
	idCommandUnknownNear ID = "command-unknown-near"
	idCommandFailed      ID = "command-failed"
	idCommandUnguarded   ID = "command-unguarded"
	idCommandGuardFailed ID = "command-guard-failed"
	idArgMissing         ID = "command-arg-missing"
	idArgNumber          ID = "command-arg-number"
	idArgBoolean         ID = "command-arg-boolean"
	idOptionUnknown      ID = "command-option-unknown"
	idOptionUnknownNear  ID = "command-option-unknown-near"
	idOptionMissing      ID = "command-option-missing"
	idOptionValue        ID = "command-option-value"
	idOptionNumber       ID = "command-option-number"
	idOptionBoolean      ID = "command-option-boolean"
	idOptionChoice       ID = "command-option-choice"
	idHelpUsageLine      ID = "help-usage-line"
	idHelpTitle          ID = "help-title"
	idHelpFooter         ID = "help-footer"
	idHelpChildren       ID = "help-children"
	idHelpChild          ID = "help-child"
	idHelpNone           ID = "help-none"
	idHelpDefault        ID = "help-default"
	idHelpChoices        ID = "help-choices"
)

var commandTexts = map[ID]text{
	idCommandUnknown: {
		en: "There is no command \"{name}\". {help} lists all commands.",
		zh: "没有指令“{name}”。发送 {help} 查看全部指令。",
	},
	idCommandUnknownNear: {
		en: "There is no command \"{name}\". Did you mean: {near}?",
		zh: "没有指令“{name}”。你是否想用：{near}？",
	},
	idCommandFailed: {en: "The command failed: {error}", zh: "指令执行失败: {error}"},
	idCommandUnguarded: {
		en: "\"{name}\" needs a permission check, and none is running, so it is refused.",
		zh: "“{name}”需要权限检查，而权限检查未就绪，已拒绝执行。",
	},
	idCommandGuardFailed: {
		en: "The permission check of \"{name}\" failed, so it is refused. The log has the details.",
		zh: "“{name}”的权限检查出错，已拒绝执行，详情见日志。",
	},
	idArgMissing: {en: "The argument <{name}> is missing.", zh: "缺少必填参数 <{name}>。"},
	idArgNumber: {
		en: "The argument {name} must be a number, got \"{value}\".", zh: "参数 {name} 必须是数字，收到“{value}”。",
	},
	idArgBoolean: {
		en: "The argument {name} must be one of true, yes, on, 1, false, no, off, 0, got \"{value}\".",
		zh: "参数 {name} 必须是 true、yes、on、1、false、no、off、0 之一，收到“{value}”。",
	},
	idOptionUnknown: {en: "Unknown option {name}.", zh: "未知选项 {name}。"},
	idOptionUnknownNear: {
		en: "Unknown option {name}. Did you mean: {near}?", zh: "未知选项 {name}。你是否想用：{near}？",
	},
	idOptionMissing: {en: "The option {name} is required.", zh: "缺少必填选项 {name}。"},
	idOptionValue:   {en: "The option {name} needs a value.", zh: "选项 {name} 需要一个值。"},
	idOptionNumber: {
		en: "The option {name} must be a number, got \"{value}\".", zh: "选项 {name} 必须是数字，收到“{value}”。",
	},
	idOptionBoolean: {
		en: "The option {name} must be one of true, yes, on, 1, false, no, off, 0, got \"{value}\".",
		zh: "选项 {name} 必须是 true、yes、on、1、false、no、off、0 之一，收到“{value}”。",
	},
	idOptionChoice: {
		en: "The option {name} must be one of {choices}, got \"{value}\".",
		zh: "选项 {name} 必须是 {choices} 之一，收到“{value}”。",
	},
	idHelpUsageLine: {en: "Usage: {usage}", zh: "用法: {usage}"},
	idHelpTitle:     {en: "Commands of {bot}", zh: "{bot} 的指令"},
	idHelpFooter:    {en: "`{help} <command>` tells more about one of them.", zh: "发送 `{help} <指令>` 查看某个指令的详情。"},
	idHelpChildren:  {en: "({count} sub-commands)", zh: "（{count} 个子指令）"},
	idHelpChild:     {en: "({count} sub-command)", zh: "（{count} 个子指令）"},
	idHelpNone:      {en: "There are no commands besides {help}.", zh: "除 {help} 外没有其他指令。"},
	idHelpDefault:   {en: "(default {value})", zh: "（默认 {value}）"},
	idHelpChoices:   {en: "(one of {choices})", zh: "（可选 {choices}）"},
}

// CommandUnknown says that there is no command of a name; help is the command that lists them.
func CommandUnknown(name, help string) Message {
	return Message{id: idCommandUnknown, args: []string{"name", name, "help", help}}
}

// CommandUnknownNear is CommandUnknown with names that resemble the wrong one.
func CommandUnknownNear(name, near string) Message {
	return Message{id: idCommandUnknownNear, args: []string{"name", name, "near", near}}
}

// CommandFailed says why a command failed.
func CommandFailed(why string) Message {
	return Message{id: idCommandFailed, args: []string{"error", why}}
}

// CommandUnguarded says that nothing could decide whether somebody may run a command.
func CommandUnguarded(name string) Message {
	return Message{id: idCommandUnguarded, args: []string{"name", name}}
}

// CommandGuardFailed says that what decides whether somebody may run a command failed.
func CommandGuardFailed(name string) Message {
	return Message{id: idCommandGuardFailed, args: []string{"name", name}}
}

// ArgMissing says that a required argument was not given.
func ArgMissing(name string) Message { return Message{id: idArgMissing, args: []string{"name", name}} }

// ArgNumber says that an argument is not a number.
func ArgNumber(name, value string) Message { return valued(idArgNumber, name, value) }

// ArgBoolean says that an argument is neither yes nor no.
func ArgBoolean(name, value string) Message { return valued(idArgBoolean, name, value) }

// OptionUnknown says that a command has no such option.
func OptionUnknown(name string) Message {
	return Message{id: idOptionUnknown, args: []string{"name", name}}
}

// OptionUnknownNear is OptionUnknown with options that resemble the wrong one.
func OptionUnknownNear(name, near string) Message {
	return Message{id: idOptionUnknownNear, args: []string{"name", name, "near", near}}
}

// OptionMissing says that a required option was not given.
func OptionMissing(name string) Message {
	return Message{id: idOptionMissing, args: []string{"name", name}}
}

// OptionValue says that an option was given without its value.
func OptionValue(name string) Message {
	return Message{id: idOptionValue, args: []string{"name", name}}
}

// OptionNumber says that the value of an option is not a number.
func OptionNumber(name, value string) Message { return valued(idOptionNumber, name, value) }

// OptionBoolean says that the value of an option is neither yes nor no.
func OptionBoolean(name, value string) Message { return valued(idOptionBoolean, name, value) }

// OptionChoice says that the value of an option is none of the choices.
func OptionChoice(name, choices, value string) Message {
	return Message{id: idOptionChoice, args: []string{"name", name, "choices", choices, "value", value}}
}

func valued(id ID, name, value string) Message {
	return Message{id: id, args: []string{"name", name, "value", value}}
}

// HelpUsageLine shows how a command is used.
func HelpUsageLine(usage string) Message {
	return Message{id: idHelpUsageLine, args: []string{"usage", usage}}
}

// HelpTitle stands above the list of a bot's commands.
func HelpTitle(bot string) Message { return Message{id: idHelpTitle, args: []string{"bot", bot}} }

// HelpFooter says how to see more.
func HelpFooter(help string) Message { return Message{id: idHelpFooter, args: []string{"help", help}} }

// HelpChildren counts the members of a group.
func HelpChildren(count int) Message {
	id := idHelpChildren
	if count == 1 {
		id = idHelpChild
	}
	return Message{id: id, args: []string{"count", strconv.Itoa(count)}}
}

// HelpNone says that there is nothing to list.
func HelpNone(help string) Message { return Message{id: idHelpNone, args: []string{"help", help}} }

// HelpDefault names the default of an option.
func HelpDefault(value string) Message {
	return Message{id: idHelpDefault, args: []string{"value", value}}
}

// HelpChoices names the choices of an option.
func HelpChoices(choices string) Message {
	return Message{id: idHelpChoices, args: []string{"choices", choices}}
}

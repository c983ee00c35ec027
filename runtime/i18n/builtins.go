// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "strconv"

// Label is a text without placeholders.
type Label ID

// Message makes the label a Message.
func (l Label) Message() Message { return Message{id: ID(l)} }

// In writes the label in a language.
func (l Label) In(lang Language) string { return l.Message().In(lang) }

// The labels of help.
const (
	HelpUsage       Label = "help-usage"
	HelpArguments   Label = "help-arguments"
	HelpOptions     Label = "help-options"
	HelpSubCommands Label = "help-sub-commands"
	HelpAliases     Label = "help-aliases"
	HelpExamples    Label = "help-examples"
	HelpGroup       Label = "help-group"
	HelpRequired    Label = "help-required"
	HelpOptional    Label = "help-optional"
	HelpSomeOptions Label = "help-some-options"
	HelpMustBeGiven Label = "help-must-be-given"
)

// What the commands of the runtime itself do.
const (
	AboutHelp      Label = "about-help"
	AboutStatus    Label = "about-status"
	AboutRestart   Label = "about-restart"
	AboutShutdown  Label = "about-shutdown"
	AboutClear     Label = "about-clear"
	AboutClearType Label = "about-clear-type"
	AboutClearList Label = "about-clear-list"
	AboutClearAll  Label = "about-clear-all"
)

// What they answer.
const (
	Restarting       Label = "restarting"
	ShuttingDown     Label = "shutting-down"
	ClearNothing     Label = "clear-nothing"
	ClearUndone      Label = "clear-undone"
	ClearTypesTitle  Label = "clear-types-title"
	ClearDone        Label = "clear-done"
	ClearFailed      Label = "clear-failed"
	StatusServices   Label = "status-services"
	StatusTools      Label = "status-tools"
	StatusCommands   Label = "status-commands"
	StatusPlugins    Label = "status-plugins"
	StatusNoServices Label = "status-no-services"
)

// The types of what can be cleared. Their ids end in the type's own name.
const (
	ClearContext      Label = "clear-type-context"
	ClearSummary      Label = "clear-type-summary"
	ClearVector       Label = "clear-type-vector"
	ClearImage        Label = "clear-type-image"
	ClearVideo        Label = "clear-type-video"
	ClearAudio        Label = "clear-type-audio"
	ClearFile         Label = "clear-type-file"
	ClearPersona      Label = "clear-type-persona"
	ClearCheckpoint   Label = "clear-type-checkpoint"
	ClearUserProfile  Label = "clear-type-user-profile"
	ClearUserRelation Label = "clear-type-user-relation"
)

const (
	idRestartInstead  ID = "restart-instead"
	idShutdownInstead ID = "shutdown-instead"
	idClearUnknown    ID = "clear-unknown"
	idClearLevel      ID = "clear-level"
	idStatusTitle     ID = "status-title"
	idStatusStates    ID = "status-states"
)

var builtinTexts = map[ID]text{
	ID(HelpUsage):       {en: "Usage", zh: "用法"},
	ID(HelpArguments):   {en: "Arguments", zh: "参数"},
	ID(HelpOptions):     {en: "Options", zh: "选项"},
	ID(HelpSubCommands): {en: "Sub-commands", zh: "子指令"},
	ID(HelpAliases):     {en: "Aliases", zh: "别名"},
	ID(HelpExamples):    {en: "Examples", zh: "示例"},
	ID(HelpGroup):       {en: "A group of commands", zh: "指令组"},
	ID(HelpRequired):    {en: "required", zh: "必填"},
	ID(HelpOptional):    {en: "optional", zh: "可选"},
	ID(HelpSomeOptions): {en: "[options]", zh: "[选项]"},

	ID(HelpMustBeGiven): {en: "(required)", zh: "（必填）"},

	ID(AboutHelp):      {en: "List the commands, or explain one", zh: "查看指令列表或某个指令的详情"},
	ID(AboutStatus):    {en: "Show what the bot runs", zh: "查看机器人的运行状态"},
	ID(AboutRestart):   {en: "Restart the bot", zh: "重启机器人"},
	ID(AboutShutdown):  {en: "Shut the bot down", zh: "关闭机器人"},
	ID(AboutClear):     {en: "Clear the memory of this session", zh: "清除当前会话的记忆"},
	ID(AboutClearType): {en: "What to clear: one or more types, all by default", zh: "要清除的类型，可重复或以逗号分隔，默认全部"},
	ID(AboutClearList): {en: "List the types that can be cleared", zh: "列出可清除的类型"},
	ID(AboutClearAll):  {en: "Clear the memory of all sessions", zh: "清除所有会话的记忆"},

	ID(Restarting):   {en: "The bot restarts now.", zh: "机器人即将重启。"},
	ID(ShuttingDown): {en: "The bot shuts down now.", zh: "机器人即将关闭。"},
	ID(ClearNothing): {en: "There was nothing to clear.", zh: "没有可清除的内容。"},
	ID(ClearUndone): {
		en: "The clearing failed half-way, and what could be undone was undone.", zh: "清除中途失败，已尽可能撤销此前的改动。",
	},
	ID(ClearTypesTitle):  {en: "What can be cleared:", zh: "可清除的类型："},
	ID(ClearDone):        {en: "cleared", zh: "已清除"},
	ID(ClearFailed):      {en: "failed", zh: "清除失败"},
	ID(StatusServices):   {en: "Services", zh: "服务"},
	ID(StatusTools):      {en: "Tools", zh: "工具"},
	ID(StatusCommands):   {en: "Commands", zh: "指令"},
	ID(StatusPlugins):    {en: "Plugins", zh: "插件"},
	ID(StatusNoServices): {en: "none", zh: "无"},

	ID(ClearContext):      {en: "messages of the conversation", zh: "对话消息"},
	ID(ClearSummary):      {en: "summary of the conversation", zh: "对话摘要"},
	ID(ClearVector):       {en: "semantic memory", zh: "语义记忆"},
	ID(ClearImage):        {en: "stored images", zh: "缓存的图片"},
	ID(ClearVideo):        {en: "stored videos", zh: "缓存的视频"},
	ID(ClearAudio):        {en: "stored sounds", zh: "缓存的音频"},
	ID(ClearFile):         {en: "stored files", zh: "缓存的文件"},
	ID(ClearPersona):      {en: "state of the persona", zh: "人设状态"},
	ID(ClearCheckpoint):   {en: "checkpoints", zh: "检查点"},
	ID(ClearUserProfile):  {en: "profiles of people", zh: "用户画像"},
	ID(ClearUserRelation): {en: "relations between people", zh: "用户关系"},

	idRestartInstead: {
		en: "The bot does not restart itself, its cluster does: kubectl rollout restart statefulset/aalis-{name}\n" +
			"A bot that runs in a terminal is restarted there.",
		zh: "机器人不会自行重启，请由集群重启：kubectl rollout restart statefulset/aalis-{name}\n" +
			"在终端中运行的机器人，请在终端中重启。",
	},
	idShutdownInstead: {
		en: "The bot does not shut itself down, since its cluster would start it again. " +
			"To stop it, set spec.state of the AgentInstance {name} to Suspended.\n" +
			"A bot that runs in a terminal is stopped there with Ctrl+C.",
		zh: "机器人不会自行关闭，否则集群会立即把它重新启动。" +
			"如需停止，请将 AgentInstance {name} 的 spec.state 设为 Suspended。\n" +
			"在终端中运行的机器人，请在终端中按 Ctrl+C 停止。",
	},
	idClearUnknown: {
		en: "There is no type \"{type}\". Possible are: {types}.", zh: "未知类型“{type}”。可用类型：{types}。",
	},
	idClearLevel: {
		en: "In a group, clearing needs level {level} or an owner. In a private chat with the bot you may clear your own session.",
		zh: "在群聊中清除需要等级 {level} 或主人权限。你可以在与机器人的私聊中清除自己的会话。",
	},
	idStatusTitle: {en: "Status of {bot}", zh: "{bot} 的运行状态"},
	idStatusStates: {
		en: "{active} active, {pending} waiting, {failed} in error", zh: "{active} 个运行中，{pending} 个等待中，{failed} 个出错",
	},
}

// RestartInstead says how to restart a bot that cannot restart itself.
func RestartInstead(name string) Message {
	return Message{id: idRestartInstead, args: []string{"name", name}}
}

// ShutdownInstead says how to stop a bot that cannot stop itself.
func ShutdownInstead(name string) Message {
	return Message{id: idShutdownInstead, args: []string{"name", name}}
}

// ClearUnknown says that there is no such type to clear.
func ClearUnknown(name, types string) Message {
	return Message{id: idClearUnknown, args: []string{"type", name, "types", types}}
}

// ClearLevel says what clearing in a group asks for.
func ClearLevel(level int) Message {
	return Message{id: idClearLevel, args: []string{"level", strconv.Itoa(level)}}
}

// StatusTitle stands above the status of a bot.
func StatusTitle(bot string) Message { return Message{id: idStatusTitle, args: []string{"bot", bot}} }

// StatusStates counts plugins by state.
func StatusStates(active, pending, failed int) Message {
	return Message{id: idStatusStates, args: []string{
		"active", strconv.Itoa(active), "pending", strconv.Itoa(pending), "failed", strconv.Itoa(failed),
	}}
}

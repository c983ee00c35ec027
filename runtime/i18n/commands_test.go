// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

// commandMessages is one message of every id of the commands, with values that show where they went.
func commandMessages() []Message {
	out := []Message{
		CommandUnknown("<n>", "<h>"), CommandUnknownNear("<n>", "<x>"), CommandFailed("<e>"), CommandUnguarded("<n>"),
		CommandGuardFailed("<n>"), ArgMissing("<n>"), ArgNumber("<n>", "<v>"), ArgBoolean("<n>", "<v>"),
		OptionUnknown("<n>"), OptionUnknownNear("<n>", "<x>"), OptionMissing("<n>"), OptionValue("<n>"),
		OptionNumber("<n>", "<v>"), OptionBoolean("<n>", "<v>"), OptionChoice("<n>", "<c>", "<v>"),
		HelpUsageLine("<u>"), HelpTitle("<b>"), HelpFooter("<h>"), HelpChildren(1), HelpChildren(3), HelpNone("<h>"),
		HelpDefault("<v>"), HelpChoices("<c>"),
		RestartInstead("<n>"), ShutdownInstead("<n>"), ClearUnknown("<t>", "<a>"), ClearLevel(2), StatusTitle("<b>"),
		StatusStates(5, 6, 7),
	}
	for _, l := range []Label{
		HelpUsage, HelpArguments, HelpOptions, HelpSubCommands, HelpAliases, HelpExamples, HelpGroup, HelpRequired,
		HelpOptional, HelpSomeOptions, HelpMustBeGiven,
		AboutHelp, AboutStatus, AboutRestart, AboutShutdown, AboutClear, AboutClearType, AboutClearList, AboutClearAll,
		Restarting, ShuttingDown, ClearNothing, ClearUndone, ClearTypesTitle, ClearDone, ClearFailed,
		StatusServices, StatusTools, StatusCommands, StatusPlugins, StatusNoServices,
		ClearContext, ClearSummary, ClearVector, ClearImage, ClearVideo, ClearAudio, ClearFile, ClearPersona,
		ClearCheckpoint, ClearUserProfile, ClearUserRelation,
	} {
		out = append(out, l.Message())
	}
	return out
}

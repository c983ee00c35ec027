// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

// ofSessions are those that commands about sessions write.
func ofSessions() []Message {
	return []Message{
		LabelModel(),
		LabelPersona(),
		LabelThinking(),
		LabelSessionName(),
		LabelModels(),
		LabelPersonas(),
		ListHead("<label>", 4, 5, 6),
		ListHeadMatching("<label>", "<keyword>", 5, 6, 7),
		ListNoMatch("<label>", "<keyword>"),
		ListEmpty("<label>"),
		ListNextPage("<command>"),
		ListSearch("<command>"),
		NoSessionManager(),
		SessionTitle("<name>"),
		SessionValue("<label>", "<value>", "<source>"),
		SessionChain("<chain>"),
		SessionUnset(),
		SessionNoRecord(),
		SessionUsage("<prefix>"),
		SessionBadModel("<value>"),
		SessionUnknownModel("<value>", 4, "<command>"),
		SessionUnknownPersona("<value>", 4, "<command>"),
		SessionChanged("<changes>"),
		SessionReset("<model>", "<persona>"),
		SessionNothingToReset("<model>", "<persona>"),
		SourceSession(),
		SourceParent(),
		SourcePlatform("<platform>"),
		SourceDefault(),
	}
}

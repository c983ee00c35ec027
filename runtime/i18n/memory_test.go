// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

// ofMemory are those about memory.
func ofMemory() []Message {
	return []Message{
		SummaryPrompt(), SummaryBudget(512), SummaryPrevious(), SummaryNew(), SummaryTask(), SummaryHeader(),
		SummaryDone(21), SummaryTrimmed(22), SummaryFailed(), SummaryNoMemory(), RecentHeader(),
	}
}

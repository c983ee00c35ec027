// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

// TestEdgeCases names the numbered cases of the behaviour's chapter 8.5 and runs what proves each. Case 13, confirmations,
// belongs to the plugin that asks for them.
func TestEdgeCases(t *testing.T) {
	for _, tc := range []struct {
		name  string
		proof func(*testing.T)
	}{
		{"8.5.1 time labels", TestTimeLabel},
		{"8.5.2 token estimate of texts", TestEstimateText},
		{"8.5.2 token estimate of messages", TestEstimateMessages},
		{"8.5.3 the same message", TestIsSame},
		{"8.5.4 focus guidance", TestFocusGuidance},
		{"8.5.5 why there is no model", TestNoModelTexts},
		{"8.5.6 and 8.5.7 anchors in any order", TestAnchors},
		{"8.5.8 prefix stability", TestPrefixIsStable},
		{"8.5.8 prefix cache", TestPrefixIsCached},
		{"8.5.9 assembled again", TestContributionsAreBuiltOnce},
		{"8.5.9 a build that fails", TestBadContributionsOnlyLoseThemselves},
		{"8.5.10 a build that hangs", TestAHungContributionIsLeftBehind},
		{"8.5.10 no limit", TestNoBuildTimeoutWaitsUntilTheTurnIsAborted},
		{"8.5.11 one turn", TestATurn},
		{"8.5.11 the second turn", TestTheNextTurnSeesTheLastOne},
		{"8.5.11 errors of the model", TestFailedTurns},
		{"8.5.11 sessions apart", TestManySessionsAtOnce},
		{"8.5.12 layout of a whole prompt", TestWholePrompt},
		{"8.5.12 an unknown tool and a block that comes in the middle", TestMidTurnContribution},
	} {
		t.Run(tc.name, tc.proof)
	}
}

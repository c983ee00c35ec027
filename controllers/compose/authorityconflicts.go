// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// authorityConflicts finds the questions to which the policies of a bot give different answers.
type authorityConflicts struct{ answers []authorityAnswer }

// authorityAnswer is what one policy says to one question. The stricter answer has the higher rank.
type authorityAnswer struct {
	question, policy, path, text string
	rank                         int64
}

func (x *authorityConflicts) add(policy string, spec v1alpha1.AuthorityPolicySpec) {
	say := func(path, question, text string, rank int64) {
		x.answers = append(x.answers, authorityAnswer{path + " " + question, policy, path, question + ": " + text, rank})
	}
	for _, l := range spec.Levels {
		level := int64(valueOf(l.Level))
		say("spec.levels", l.Platform+":"+l.UserID, fmt.Sprint("level ", level), -level)
	}
	for _, a := range spec.AuthorityOverrides {
		level := int64(valueOf(a.MinLevel))
		say("spec.authorityOverrides", a.Capability, fmt.Sprint("minLevel ", level), level)
	}
	for _, o := range spec.ConfirmOverrides {
		say("spec.confirmOverrides", o.Capability, string(o.Confirm), int64(slices.Index(confirmRules, o.Confirm)))
	}
	if a := spec.AutoConfirm; a != nil {
		until := autoUntil(a)
		rank := -until
		if a.Mode == v1alpha1.AutoConfirmForever {
			rank = -1 << 62
		}
		say("spec.autoConfirm", "owners", string(a.Mode), rank)
	}
	if n := spec.Network; n != nil && n.PrivateAddresses != "" {
		rank := int64(0)
		if n.PrivateAddresses == v1alpha1.DenyAddresses {
			rank = 1
		}
		say("spec.network.privateAddresses", "private addresses", string(n.PrivateAddresses), rank)
	}
}

// report says of each answer that is not in effect which one is. The order of the policies does not matter.
func (x *authorityConflicts) report(c *composer) {
	slices.SortFunc(x.answers, func(a, b authorityAnswer) int {
		return cmp.Or(strings.Compare(a.question, b.question), cmp.Compare(b.rank, a.rank), strings.Compare(a.policy, b.policy))
	})
	var holds authorityAnswer
	for i, a := range x.answers {
		if i == 0 || a.question != holds.question {
			holds = a
			continue
		}
		if a.rank != holds.rank {
			c.at(SeverityInfo, v1alpha1.ReasonStricterHolds, "AuthorityPolicy "+a.policy, a.path,
				"%s is not in effect: AuthorityPolicy %s says %s, which is stricter", a.text, holds.policy, answerOf(holds.text))
		}
	}
}

// answerOf is the answer without its question.
func answerOf(text string) string {
	return text[strings.LastIndex(text, ": ")+2:]
}

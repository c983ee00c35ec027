// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

// ofAuthority are those about who may do what.
func ofAuthority() []Message {
	return []Message{
		AuthorityDenied("<c>"), AuthorityLevel("<c>", 5, 6), AuthorityNotLoaded("<c>"), AuthorityCancelled("<c>"),
		AuthorityShown("<w>", "<l>", "<s>"), AuthorityOwner(), AuthoritySourceChat(), AuthoritySourceDeclared(),
		AuthoritySourceDefault(), AuthorityTarget(), AuthorityOthers(7), AuthorityOwnersOnly(), AuthorityInteger("<v>"),
		AuthoritySet("<w>", 8), AuthorityIsOwner("<w>"), AuthorityIsBanned("<w>"), AuthorityLocked("<p>"),
		AuthorityNotStored(), AuthorityFull(9), AutoOff(), AutoForever(), AutoMinutes(5), AutoUsage(),
		ConfirmSession("<o>", 10), ConfirmAlways("<o>"), ConfirmTimedOut("<o>"),
		FlowIdlePrompt.Message(),
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy holds the rules of authority: may this person run this operation now, and must somebody confirm it.
//
// There are two axes. The level says who may: every person has an integer level, owners stand outside of it, every
// operation asks for a minimum, and what is denied is denied to owners too. The confirmation says whether a person must
// confirm what is allowed; it asks owners as well, so that words slipped into a conversation cannot borrow their rights.
//
// It is pure: no clock, no I/O, no kernel. The plugin authority decides by it in a running bot and `kubectl aalis authority
// can-i` decides by it offline, so that both give one answer with one reason.
package policy

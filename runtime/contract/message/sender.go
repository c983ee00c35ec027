// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import "strings"

// SenderLabel is how a person is written in a prompt: nick(id), or the one of the two that is known, or nothing.
func SenderLabel(nickname, userID string) string {
	nickname = strings.TrimSpace(nickname)
	switch {
	case nickname != "" && userID != "":
		return nickname + "(" + userID + ")"
	case nickname != "":
		return nickname
	default:
		return userID
	}
}

// PrefixSender puts the sender before the text, as in "[nick(id)]: text". Without a sender the text stays as it is.
func PrefixSender(nickname, userID, text string) string {
	label := SenderLabel(nickname, userID)
	if label == "" {
		return text
	}
	return "[" + label + "]: " + text
}

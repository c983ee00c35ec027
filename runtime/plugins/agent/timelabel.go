// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"time"
)

// timeLabel writes a time as it stands before messages, in the zone of now, with the year only if it is not that of now.
// It is never relative: a label that says "today" would change every midnight, and with it all that providers cache.
func timeLabel(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Year() == now.Year() {
		return t.Format("1/2 15:04")
	}
	return t.Format("2006/1/2 15:04")
}

// labelled puts a label before a text that does not have it already.
func labelled(label, text string) string {
	prefix := "(" + label + ") "
	if strings.HasPrefix(text, prefix) {
		return text
	}
	return prefix + text
}

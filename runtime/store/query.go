// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// Limit is the limit of a history query, with its default filled in.
func Limit(limit, otherwise int) int {
	if limit <= 0 {
		return otherwise
	}
	return limit
}

// Normalize fills in and clamps what a query across sessions leaves open.
func Normalize(q memory.Query) memory.Query {
	q.Limit = min(max(q.Limit, 1), memory.CrossSessionMaxLimit)
	if len(q.Roles) == 0 {
		q.Roles = []message.Role{message.RoleUser, message.RoleAssistant}
	}
	return q
}

// Matches tells whether a message of a session that is not archived is what a normalized query asks for.
func Matches(q memory.Query, sessionID string, m *message.Message) bool {
	return m.Timestamp >= q.Since &&
		slices.Contains(q.Roles, m.Role) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, m.Kind)) &&
		(m.Kind == "" || !slices.Contains(q.ExcludeKinds, m.Kind)) &&
		!slices.Contains(q.ExcludeSessions, sessionID) &&
		(q.Platform == "" || m.Metadata["platform"] == q.Platform)
}

// InRange tells whether a message of the session is what a range asks for.
func InRange(r memory.Range, m *message.Message) bool {
	return m.Timestamp >= r.From && m.Timestamp <= r.To &&
		(len(r.Roles) == 0 || slices.Contains(r.Roles, m.Role)) &&
		(m.Kind == "" || !slices.Contains(r.ExcludeKinds, m.Kind))
}

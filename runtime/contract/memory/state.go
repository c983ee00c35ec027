// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

// The namespaces of metadata that hold state of the bot and no memory of conversations: what people changed at run
// time. No clearing touches them, ClearAll included.
const (
	NamespaceAuthority = "authority" // levels, owners and grants given in chat
	NamespaceBudget    = "budget"    // what was spent
	NamespaceFlow      = "flow"      // mutes and thresholds of flow control
	NamespaceJobs      = "jobs"      // dynamic jobs of the scheduler
	NamespaceOverlay   = "overlay"   // settings laid over the declared config
	NamespaceSessions  = "sessions"  // the tree of sessions and their overrides
	NamespaceUsage     = "usage"     // what calls of models took, by hour and day
)

// StateNamespaces lists the namespaces that no clearing touches, sorted.
func StateNamespaces() []string {
	return []string{NamespaceAuthority, NamespaceBudget, NamespaceFlow, NamespaceJobs, NamespaceOverlay, NamespaceSessions, NamespaceUsage}
}

// IsState tells whether a namespace holds state that no clearing touches.
func IsState(namespace string) bool {
	switch namespace {
	case NamespaceAuthority, NamespaceBudget, NamespaceFlow, NamespaceJobs, NamespaceOverlay, NamespaceSessions, NamespaceUsage:
		return true
	default:
		return false
	}
}

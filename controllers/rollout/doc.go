// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how a new revision of a Persona or Plugin reaches the bots that use it in steps. All of it is
// pure: Next plans for the object, Choose says for one bot which revision it composes with. They have no memory but the
// status of the objects, so the operator may be killed at any point. The reconcilers of Persona, Plugin and
// AgentInstance call it.
package rollout

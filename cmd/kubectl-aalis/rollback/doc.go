// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollback pins a bot to an earlier revision of a Persona or Plugin that it uses, and takes the pin away again. The
// operator keeps the revisions as ControllerRevisions and honours the pins; the declared objects stay as they are, so that a
// pin does not fight with Git.
//
// It writes nothing but the field spec.pin of one AgentInstance, under a field manager of its own.
package rollback

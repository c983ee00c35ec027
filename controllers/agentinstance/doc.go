// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentinstance reconciles AgentInstances: it gathers what a bot is declared to be, composes a kernel config,
// delivers it in a ConfigMap, keeps the bot's child objects as rendered and reports what the kernel in the pod says of
// itself.
//
// It is set up by the operator's manager. It never reads a Secret, never touches an object that it does not own and
// writes nothing when nothing differs.
package agentinstance

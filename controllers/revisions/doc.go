// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions keeps the earlier specs of Personas and Plugins as ControllerRevisions: up to ten of each object, and
// as many more as are in use. The reconcilers of Persona and Plugin record them; that of AgentInstance reads them for
// pins and roll-outs. The cache holds only their metadata; what a revision contains is read when somebody needs it, and
// remembered, since it never changes.
package revisions

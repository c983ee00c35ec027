// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shared holds what the reconcilers have in common: server-side apply that writes only what differs, the
// patching of status and finalizers, conditions in kstatus form, events, metrics, the indexes and the counting of
// users.
//
// It is called by the packages of the kinds beside it. It never decides what a bot should look like (that is
// compose and render) and never reads a Secret.
package shared

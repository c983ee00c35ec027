// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import "github.com/aalis-dev/aalis-operator/runtime/kernel"

// The events of memory.
var (
	// MessagesDeleted: single messages of a session were removed, such as by a rollback.
	MessagesDeleted = kernel.NewEvent[Deleted]("memory:messages-deleted")
	// HistoryChanged: a session's messages changed other than by a new message; who shows them reads them again.
	HistoryChanged = kernel.NewEvent[Changed]("history:changed")
	// Compress asks for a session's older messages to be summarised now.
	Compress = kernel.NewEvent[CompressRequest]("session:compress")
	// Compressing tells how a summarising goes.
	Compressing = kernel.NewEvent[CompressProgress]("session:compressing")
)

// Deleted is the payload of MessagesDeleted.
type Deleted struct {
	SessionID string
	// Timestamps of the messages, in milliseconds since the epoch.
	Timestamps []int64
}

// Changed is the payload of HistoryChanged.
type Changed struct {
	SessionID string
}

// The reasons of a CompressRequest.
const (
	CompressAuto   = "auto"
	CompressManual = "manual"
)

// CompressRequest is the payload of Compress.
type CompressRequest struct {
	SessionID string
	// Reason is CompressAuto, CompressManual or another word; others only act when the session is long enough.
	Reason string
}

// CompressPhase is a step of a summarising.
type CompressPhase string

// The steps of a summarising: it starts, and then is done or ends in an error.
const (
	CompressStart CompressPhase = "start"
	CompressDone  CompressPhase = "done"
	CompressError CompressPhase = "error"
)

// CompressProgress is the payload of Compressing.
type CompressProgress struct {
	SessionID string
	Phase     CompressPhase
	Reason    string
	// Error for people; only with CompressError.
	Error string
}

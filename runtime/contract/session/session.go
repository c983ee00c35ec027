// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session is the contract of the session manager: the tree of conversations and what each is configured to.
package session

import (
	"context"
	"errors"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service session-manager.
var Service = kernel.NewService[Manager]("session-manager")

// Config is what a session may decide for itself. A nil or empty field decides nothing.
type Config struct {
	LLM                     *llm.Ref `json:"llm,omitempty"`
	EnabledToolGroups       []string `json:"enabledToolGroups,omitempty"`
	Persona                 string   `json:"persona,omitempty"`
	Thinking                *bool    `json:"thinking,omitempty"`
	DisableOutputFormat     *bool    `json:"disableOutputFormat,omitempty"`
	ClientSideJSONRendering *bool    `json:"clientSideJsonRendering,omitempty"`
	// SessionDefaults are what direct children of the session inherit.
	SessionDefaults *Config `json:"sessionDefaults,omitempty"`
}

// Status of a session.
type Status string

// The statuses of a session.
const (
	Active    Status = "active"
	Waiting   Status = "waiting"
	Completed Status = "completed"
	Failed    Status = "error"
	Archived  Status = "archived"
)

// Info is a session.
type Info struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Title        string         `json:"title,omitempty"`
	ParentID     string         `json:"parentId,omitempty"`
	Children     []string       `json:"children,omitempty"`
	Status       Status         `json:"status"`
	Config       Config         `json:"config"`
	CreatedAt    int64          `json:"createdAt"` // milliseconds since the epoch
	UpdatedAt    int64          `json:"updatedAt"`
	CreatedBy    string         `json:"createdBy,omitempty"` // user, agent, scheduler or system
	InputContext string         `json:"inputContext,omitempty"`
	Result       string         `json:"result,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
}

// Layer names where a resolved value comes from.
type Layer string

// The layers, highest first.
const (
	LayerSession  Layer = "session"
	LayerParent   Layer = "parent"
	LayerPlatform Layer = "platform"
	LayerDefault  Layer = "default"
)

// LayerConfig is one layer of a resolution.
type LayerConfig struct {
	Layer  Layer
	Config Config
}

// Patch changes a session. Only what is set changes; Clear removes fields of the session's own config by their JSON
// names, so that they are inherited again.
type Patch struct {
	Name      string
	Title     string
	Status    Status
	Config    Config
	Clear     []string
	CreatedBy string
	Result    string
	Metadata  map[string]any
}

// The values of Info.CreatedBy.
const (
	ByUser      = "user"
	ByAgent     = "agent"
	ByScheduler = "scheduler"
	BySystem    = "system"
)

// The errors of a Manager, to be told apart with errors.Is.
var (
	// ErrUnknown says that there is no session of that id.
	ErrUnknown = errors.New("there is no such session")
	// ErrInvalid says that an id or a patch is unfit; the text says what and how.
	ErrInvalid = errors.New("invalid session")
	// ErrFull says that no further session fits, and none can make room.
	ErrFull = errors.New("there are too many sessions")
)

// Tree is a session with its descendants.
type Tree struct {
	Info     Info
	Children []Tree
}

// Manager keeps the sessions of a bot. Its methods may be called concurrently, and what they return are copies.
type Manager interface {
	// Get reads a session.
	Get(id string) (Info, bool)
	// Ensure makes or changes the session of exactly that id.
	Ensure(ctx context.Context, id string, p Patch) (Info, error)
	// Update changes a session that exists; an unknown id is an error.
	Update(ctx context.Context, id string, p Patch) (Info, error)
	// CreateChild makes a child with a new id; an unknown parent is an error.
	CreateChild(ctx context.Context, parentID string, p Patch) (Info, error)
	// Delete removes a session with its children and clears their memory; an unknown id is no error.
	Delete(ctx context.Context, id string) error
	// Complete ends a session with a result.
	Complete(ctx context.Context, id, result string) error
	// List gives the sessions of a parent ("" for roots) with a status ("" for any), newest first.
	List(parentID string, status Status) []Info
	// Tree gives a session with its descendants, or all roots with theirs for "", newest first; an unknown id gives
	// none.
	Tree(rootID string) []Tree
	// Resolve is the config in effect for a session on a platform, from all layers.
	Resolve(sessionID, platform string) Config
	// Layers are the layers of that resolution, highest first, those that decide nothing included.
	Layers(sessionID, platform string) []LayerConfig
	// Inherited is what the session would have if it decided nothing itself.
	Inherited(sessionID, platform string) Config
}

// The events of sessions.
var (
	Created  = kernel.NewEvent[Info]("session:created")
	Updated  = kernel.NewEvent[Info]("session:updated")
	Switched = kernel.NewEvent[string]("session:switched")
	Deleted  = kernel.NewEvent[string]("session:deleted")
	Ended    = kernel.NewEvent[Info]("session:completed")
)

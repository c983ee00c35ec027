// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// The bounds of a session. Texts are counted in UTF-16 code units.
const (
	maxID          = 512
	maxName        = 200
	maxResult      = 65536 // a longer one is cut
	maxPatch       = 65536 // bytes of JSON, of the config and of the metadata
	maxMetadata    = 64    // keys of a session
	suffixLength   = 8
	childSeparator = "::"
)

// clearable are the fields of a config by their JSON names.
var clearable = map[string]func(c *session.Config){
	"llm":                     func(c *session.Config) { c.LLM = nil },
	"enabledToolGroups":       func(c *session.Config) { c.EnabledToolGroups = nil },
	"persona":                 func(c *session.Config) { c.Persona = "" },
	"thinking":                func(c *session.Config) { c.Thinking = nil },
	"disableOutputFormat":     func(c *session.Config) { c.DisableOutputFormat = nil },
	"clientSideJsonRendering": func(c *session.Config) { c.ClientSideJSONRendering = nil },
	"sessionDefaults":         func(c *session.Config) { c.SessionDefaults = nil },
}

var statuses = []session.Status{session.Active, session.Waiting, session.Completed, session.Failed, session.Archived}

// check says what is wrong with an id and a patch.
func check(id string, p session.Patch) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{session.ErrInvalid}, args...)...)
	}
	switch {
	case strings.TrimSpace(id) == "":
		return invalid("the id must not be empty")
	case i18n.Units(id) > maxID:
		return invalid("the id may not be longer than %d characters, got %d", maxID, i18n.Units(id))
	case i18n.Units(p.Name) > maxName:
		return invalid("name may not be longer than %d characters, got %d", maxName, i18n.Units(p.Name))
	case i18n.Units(p.Title) > maxName:
		return invalid("title may not be longer than %d characters, got %d", maxName, i18n.Units(p.Title))
	case p.Status != "" && !slices.Contains(statuses, p.Status):
		return invalid("status must be one of %q, got %q", statuses, p.Status)
	case len(p.Metadata) > maxMetadata:
		return invalid("metadata may not have more than %d keys, got %d", maxMetadata, len(p.Metadata))
	}
	for _, name := range p.Clear {
		if clearable[name] == nil {
			return invalid("clear must name fields of the config: %s, got %q", strings.Join(slices.Sorted(maps.Keys(clearable)), ", "), name)
		}
	}
	for what, v := range map[string]any{"config": p.Config, "metadata": p.Metadata} {
		raw, err := json.Marshal(v)
		if err != nil {
			return invalid("%s must be JSON: %v", what, err)
		}
		if len(raw) > maxPatch {
			return invalid("%s may not take more than %d bytes, got %d", what, maxPatch, len(raw))
		}
	}
	return nil
}

// amend lays a patch over a record. Who made it stays.
func amend(r *session.Info, p session.Patch, now int64) {
	r.UpdatedAt = max(now, r.UpdatedAt)
	set(&r.Name, p.Name)
	set(&r.Title, p.Title)
	set(&r.Result, i18n.Cut(p.Result, maxResult))
	if p.Status != "" {
		r.Status = p.Status
	}
	for _, name := range p.Clear {
		clearable[name](&r.Config)
	}
	r.Config = r.Config.Overlay(p.Config.Clone())
	if len(p.Metadata) > 0 {
		r.Metadata = maps.Clone(r.Metadata)
		if r.Metadata == nil {
			r.Metadata = map[string]any{}
		}
		for key, v := range p.Metadata {
			if _, there := r.Metadata[key]; there || len(r.Metadata) < maxMetadata {
				r.Metadata[key] = v
			}
		}
	}
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// decidesNothing tells whether a config is as good as none.
func decidesNothing(c session.Config) bool {
	return c.LLM == nil && len(c.EnabledToolGroups) == 0 && c.Persona == "" && c.Thinking == nil &&
		c.DisableOutputFormat == nil && c.ClientSideJSONRendering == nil && c.SessionDefaults == nil
}

// suffixOf is what a new id adds to that of its parent.
func suffixOf(parentID, suffix string) string {
	if parentID == "" {
		return "session-" + suffix
	}
	return childSeparator + suffix
}

func newSuffix() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:suffixLength] }

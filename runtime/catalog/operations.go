// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Operation is a tool or a command that a shipped module offers, with what it declares about who may run it.
type Operation struct {
	// Capability is kind:name, as in command:clear.
	Capability string `json:"capability"`
	// Module that offers it, by its full name.
	Module string `json:"module"`
	// Visibility is public or restricted; empty follows from the risk, or else is public.
	Visibility string `json:"visibility,omitempty"`
	// Risk is safe, sensitive or dangerous; empty is not declared.
	Risk string `json:"risk,omitempty"`
	// Confirm is session or always; empty follows from the risk, or else is none.
	Confirm string `json:"confirm,omitempty"`
}

//go:embed operations.json
var embeddedOperations []byte

// Operations lists what the shipped modules offer, sorted by capability. Modules of other vendors, and tools that servers
// elsewhere offer, are not in it.
func Operations() ([]Operation, error) {
	var out []Operation
	if err := json.Unmarshal(embeddedOperations, &out); err != nil {
		return nil, fmt.Errorf("embedded operations: %w", err)
	}
	return out, nil
}

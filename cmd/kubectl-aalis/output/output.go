// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints what the commands of kubectl aalis find: as a table or as a text for people, as JSON or YAML for
// programs. It knows nothing of what it prints.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// Format is how something is printed.
type Format string

// The formats.
const (
	// Text is for people, and the default.
	Text Format = ""
	// JSON and YAML are for programs.
	JSON Format = "json"
	YAML Format = "yaml"
)

// Parse reads the value of --output.
func Parse(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, JSON, YAML:
		return f, nil
	}
	return Text, fmt.Errorf("--output must be json or yaml, got %q", s)
}

// Encode prints a value as JSON or YAML.
func Encode(w io.Writer, f Format, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	data = append(data, '\n')
	if f == YAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
	}
	_, err = w.Write(data)
	return err
}

// Documents prints several values as YAML documents, or as one JSON list of the API.
func Documents(w io.Writer, f Format, items []any) error {
	if f == JSON {
		return Encode(w, f, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	for _, item := range items {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
		if err := Encode(w, YAML, item); err != nil {
			return err
		}
	}
	return nil
}

// Table prints rows under a header in columns. What could steer a terminal is escaped; an empty cell is printed as -.
func Table(w io.Writer, header []string, rows [][]string) error {
	tw := printers.GetNewTabWriter(w)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = Clean(cell); cells[i] == "" {
				cells[i] = "-"
			}
		}
		if _, err := fmt.Fprintln(tw, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// Clean makes one line of a text that others wrote, with nothing in it that could steer a terminal.
func Clean(text string) string {
	return printers.EscapeTerminal(strings.Join(strings.Fields(text), " "))
}

// Age is the time since then as kubectl prints it; empty if there was none.
func Age(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(then))
}

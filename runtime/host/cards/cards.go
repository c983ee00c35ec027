// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cards reads persona cards from the files of a directory. aalis run calls it for --personas; the cards become
// the further personas of the bot. It never writes, and never looks below the directory.
package cards

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// The bounds of a directory and of a file.
const (
	maxCards = 64
	maxBytes = 1 << 20
)

// card is the YAML form of a card.
type card struct {
	Name         string    `yaml:"name"`
	Description  string    `yaml:"description"`
	Prompt       string    `yaml:"prompt"`
	Traits       []string  `yaml:"traits"`
	Greeting     string    `yaml:"greeting"`
	NickNames    []string  `yaml:"nick_name"`
	OutputFormat yaml.Node `yaml:"outputFormat"` // a map whose order counts
	FormatPrompt string    `yaml:"outputFormatPrompt"`
	Retries      *float64  `yaml:"outputFormatRetries"`
	ClientSide   bool      `yaml:"clientSideJsonRendering"`
	Skills       *[]string `yaml:"skills"`
}

type field struct {
	Description string `yaml:"description"`
	Type        string `yaml:"type"`
	Reply       bool   `yaml:"reply"`
}

// Read gives the cards of a directory, sorted by source, which is the name of the file without .yaml or .yml. A file
// that is no card is left out, with a note that says why.
func Read(dir string) (found []kernelconfig.Persona, notes []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []string{fmt.Sprintf("reading the personas: %v", err)}
	}
	for _, e := range entries { // sorted by name
		ext := filepath.Ext(e.Name())
		source := strings.TrimSuffix(e.Name(), ext)
		if e.IsDir() || ext != ".yaml" && ext != ".yml" || source == "" || strings.HasPrefix(source, ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		p, err := readFile(path, source)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s: %v", path, err))
		case slices.ContainsFunc(found, func(o kernelconfig.Persona) bool { return o.Source == source }):
			notes = append(notes, path+": there is another card of this name")
		case len(found) == maxCards:
			return found, append(notes, fmt.Sprintf("%s: more than %d personas, the rest is left out", dir, maxCards))
		default:
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b kernelconfig.Persona) int { return cmp.Compare(a.Source, b.Source) })
	return found, notes
}

func readFile(path, source string) (kernelconfig.Persona, error) {
	f, err := os.Open(path)
	if err != nil {
		return kernelconfig.Persona{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return kernelconfig.Persona{}, err
	}
	if len(data) > maxBytes {
		return kernelconfig.Persona{}, fmt.Errorf("may not be larger than %d bytes", maxBytes)
	}
	return Decode(source, data)
}

// Decode reads one card strictly: an unknown key, a second document or a missing name or prompt is an error.
func Decode(source string, data []byte) (kernelconfig.Persona, error) {
	var c card
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		return kernelconfig.Persona{}, fmt.Errorf("is no persona card: %w", err)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return kernelconfig.Persona{}, errors.New("must hold one document")
	}
	switch {
	case strings.TrimSpace(c.Name) == "":
		return kernelconfig.Persona{}, errors.New("name must be set")
	case strings.TrimSpace(c.Prompt) == "":
		return kernelconfig.Persona{}, errors.New("prompt must be set")
	}
	p := kernelconfig.Persona{
		Source: source, Name: c.Name, Description: c.Description, Traits: c.Traits, Prompt: c.Prompt, NickNames: c.NickNames,
		Greeting: c.Greeting, ClientSideJSONRendering: c.ClientSide,
	}
	if c.Skills != nil {
		p.Skills = append([]string{}, *c.Skills...)
	}
	if c.OutputFormat.IsZero() {
		return p, nil
	}
	format, err := c.format()
	p.OutputFormat = format
	return p, err
}

// format reads the fields in their order.
func (c *card) format() (*kernelconfig.OutputFormat, error) {
	if c.OutputFormat.Kind != yaml.MappingNode {
		return nil, errors.New("outputFormat must be a map of fields")
	}
	out := &kernelconfig.OutputFormat{Prompt: c.FormatPrompt, Retries: retries(c.Retries)}
	reply := false
	for i := 0; i+1 < len(c.OutputFormat.Content); i += 2 {
		name, value := c.OutputFormat.Content[i].Value, c.OutputFormat.Content[i+1]
		if slices.ContainsFunc(out.Fields, func(o kernelconfig.OutputField) bool { return o.Name == name }) {
			return nil, fmt.Errorf("outputFormat.%s may not be given twice", name)
		}
		raw, err := yaml.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("outputFormat.%s: %w", name, err)
		}
		var f field
		dec := yaml.NewDecoder(bytes.NewReader(raw))
		dec.KnownFields(true)
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("outputFormat.%s: %w", name, err)
		}
		if f.Type != "number" && f.Type != "boolean" {
			f.Type = "string"
		}
		reply = reply || f.Reply
		out.Fields = append(out.Fields, kernelconfig.OutputField{Name: name, Description: f.Description, Type: f.Type, Reply: f.Reply})
	}
	if !reply {
		return nil, errors.New("outputFormat must have a field with reply: true")
	}
	return out, nil
}

// retries is the whole part of a number that is not negative; anything else is the kernel's default.
func retries(n *float64) *int32 {
	if n == nil || !(*n >= 0) || *n > math.MaxInt32 {
		return nil
	}
	whole := int32(*n)
	return &whole
}

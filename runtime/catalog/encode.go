// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Format names the layout of an encoded catalog.
const Format = "aalis.dev/catalog/v1"

// hashLength is the number of hexadecimal digits of a hash.
const hashLength = 20

//go:embed catalog.json
var shipped []byte

// Default returns the catalog of the modules this very build ships. It fails only if the generated file is damaged.
func Default() (Catalog, error) {
	c, err := Decode(shipped)
	if err != nil {
		return Catalog{}, fmt.Errorf("embedded catalog: %w", err)
	}
	return c, nil
}

// document is the encoded form.
type document struct {
	Format  string   `json:"format"`
	Modules []Module `json:"modules"`
}

// Encode returns the catalog as indented JSON that ends with a newline. The order of the modules does not matter.
func (c Catalog) Encode() ([]byte, error) {
	sorted, err := New(c.Modules)
	if err != nil {
		return nil, fmt.Errorf("encoding the catalog: %w", err)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document{Format: Format, Modules: nonNil(sorted.Modules)}); err != nil {
		return nil, fmt.Errorf("encoding the catalog: %w", err)
	}
	return buf.Bytes(), nil
}

func nonNil(modules []Module) []Module {
	if modules == nil {
		return []Module{}
	}
	return modules
}

// Decode reads an encoded catalog strictly: an unknown field, another format, data after the document or a module that
// makes no sense is an error.
func Decode(data []byte) (Catalog, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var d document
	if err := dec.Decode(&d); err != nil {
		return Catalog{}, fmt.Errorf("decoding the catalog: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Catalog{}, errors.New("decoding the catalog: data after the document")
	}
	if d.Format != Format {
		return Catalog{}, fmt.Errorf("decoding the catalog: format must be %q, got %q", Format, d.Format)
	}
	c, err := New(d.Modules)
	if err != nil {
		return Catalog{}, fmt.Errorf("decoding the catalog: %w", err)
	}
	return c, nil
}

// Hash identifies what the catalog means to a composed config: 20 hexadecimal digits. Texts for people (display names,
// summaries, labels, descriptions) do not count, nor does the order of the modules.
func (c Catalog) Hash() (string, error) {
	plain := Catalog{Modules: make([]Module, len(c.Modules))}
	for i, m := range c.Modules {
		m.DisplayName, m.Summary, m.Stability = "", "", ""
		m.Config = schema.Object{Fields: withoutTexts(m.Config.Fields)}
		plain.Modules[i] = m
	}
	data, err := plain.Encode()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

func withoutTexts(fields []schema.Field) []schema.Field {
	if fields == nil {
		return nil
	}
	out := make([]schema.Field, len(fields))
	for i, f := range fields {
		out[i] = plainField(f)
	}
	return out
}

func plainField(f schema.Field) schema.Field {
	f.Label, f.Description = "", ""
	f.Fields = withoutTexts(f.Fields)
	if f.Items != nil {
		items := plainField(*f.Items)
		f.Items = &items
	}
	if f.Options != nil {
		options := make([]schema.Option, len(f.Options))
		for i, o := range f.Options {
			options[i] = schema.Option{Value: o.Value}
		}
		f.Options = options
	}
	return f
}

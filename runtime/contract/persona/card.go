// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import "slices"

// Card is a persona card. Its JSON form is that of the kernel config.
type Card struct {
	// Source names where the card came from: a Persona object or a file. It is the name the card is chosen by.
	Source string `json:"source"`
	// Name the bot goes by.
	Name string `json:"name"`
	// NickNames are further names that people call it by.
	NickNames []string `json:"nickNames,omitempty"`
	// Description of the character.
	Description string `json:"description,omitempty"`
	// Traits of the character.
	Traits []string `json:"traits,omitempty"`
	// Prompt that defines the character.
	Prompt string `json:"prompt"`
	// Greeting that clients may show before the first message.
	Greeting string `json:"greeting,omitempty"`
	// OutputFormat asks for replies that are JSON objects.
	OutputFormat *OutputFormat `json:"outputFormat,omitempty"`
	// ClientSideJSONRendering hands the whole JSON object to the client instead of its reply field.
	ClientSideJSONRendering bool `json:"clientSideJsonRendering,omitempty"`
	// Skills are the only skills the persona may use: nil is all, empty is none.
	Skills []string `json:"skills,omitzero"`
}

// DefaultRetries is how often a reply that does not fit the output format is asked for again, unless the card says.
const DefaultRetries = 1

// OutputFormat is the JSON object that each reply must be.
type OutputFormat struct {
	// Fields of the object, in the order in which the model is shown them.
	Fields []OutputField `json:"fields"`
	// Prompt replaces the built-in words around the skeleton of the object.
	Prompt string `json:"prompt,omitempty"`
	// Retries of a reply that does not fit; nil is DefaultRetries.
	Retries *int32 `json:"retries,omitempty"`
}

// OutputField is one field of the object.
type OutputField struct {
	// Name is the key in the object.
	Name string `json:"name"`
	// Description for the model.
	Description string `json:"description,omitempty"`
	// Type of the value; empty is FieldString.
	Type FieldType `json:"type,omitempty"`
	// Reply marks the field that is sent. If several are marked, the last one is.
	Reply bool `json:"reply,omitempty"`
}

// FieldType is the type of a value.
type FieldType string

// The types of values.
const (
	FieldString  FieldType = "string"
	FieldNumber  FieldType = "number"
	FieldBoolean FieldType = "boolean"
)

// MaxRetries is how often a reply that does not fit is asked for again.
func (f *OutputFormat) MaxRetries() int {
	if f.Retries == nil || *f.Retries < 0 {
		return DefaultRetries
	}
	return int(*f.Retries)
}

// ReplyField is the name of the field that is sent; ok is false if none is marked, and then the format is unusable.
func (f *OutputFormat) ReplyField() (name string, ok bool) {
	for _, field := range slices.Backward(f.Fields) {
		if field.Reply {
			return field.Name, true
		}
	}
	return "", false
}

// Format is the output format in effect under the options: nil if the card has none that is usable, or o turns it off.
func (c Card) Format(o Options) *OutputFormat {
	if c.OutputFormat == nil || o.DisableOutputFormat {
		return nil
	}
	if _, ok := c.OutputFormat.ReplyField(); !ok {
		return nil
	}
	return c.OutputFormat
}

// RendersAtClient tells whether, under the options, the client is handed the whole JSON object of a reply.
func (c Card) RendersAtClient(o Options) bool {
	if o.ClientSideJSONRendering != nil {
		return *o.ClientSideJSONRendering
	}
	return c.ClientSideJSONRendering
}

// Clone is a copy that shares nothing.
func (c Card) Clone() Card {
	c.NickNames = slices.Clone(c.NickNames)
	c.Traits = slices.Clone(c.Traits)
	c.Skills = slices.Clone(c.Skills)
	c.OutputFormat = c.OutputFormat.Clone()
	return c
}

// Clone is a copy that shares nothing; that of nil is nil.
func (f *OutputFormat) Clone() *OutputFormat {
	if f == nil {
		return nil
	}
	out := *f
	out.Fields = slices.Clone(f.Fields)
	if f.Retries != nil {
		n := *f.Retries
		out.Retries = &n
	}
	return &out
}

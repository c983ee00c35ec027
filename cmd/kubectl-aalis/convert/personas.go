// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/host/cards"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// The bounds that admission has for the personas of a bot.
const (
	maxPersonas = 16
	maxRetries  = 10
	maxObject   = 253
)

var (
	cardKeys = []string{
		"name", "description", "prompt", "traits", "greeting", "nick_name", "outputFormat", "outputFormatPrompt",
		"outputFormatRetries", "clientSideJsonRendering", "skills",
	}
	fieldKeys = []string{"description", "type", "reply"}
)

// personas makes a Persona of each card.
func (c *converter) personas() {
	for _, file := range c.src.Cards {
		path := "persona card " + file.Name
		data, err := c.knownKeys(path, file.Data)
		if err != nil {
			c.note(path, "%v; left out", err)
			continue
		}
		card, err := cards.Decode(file.Name, data)
		if err != nil {
			c.note(path, "%v; left out", err)
			continue
		}
		if _, twice := c.cards[file.Name]; twice {
			c.note(path, "there is another card of this name; left out")
			continue
		}
		name := c.take(v1alpha1.KindPersona, slug(file.Name, "persona", maxLabel))
		c.cards[file.Name] = name
		if name != file.Name {
			c.note(path, "became the Persona %s", name)
		}
		c.out.Personas = append(c.out.Personas, v1alpha1.Persona{
			TypeMeta: typeMeta(v1alpha1.KindPersona), ObjectMeta: c.meta(name), Spec: c.personaSpec(path, card),
		})
	}
}

// knownKeys takes out of a card what it may not have, with notes, so that the rest can be read strictly.
func (c *converter) knownKeys(path string, data []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("is no YAML: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return data, nil // decoding says what is wrong
	}
	root := doc.Content[0]
	c.dropUnknown(path, root, cardKeys)
	for i := 0; i+1 < len(root.Content); i += 2 {
		if format := root.Content[i+1]; root.Content[i].Value == "outputFormat" && format.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(format.Content); j += 2 {
				c.dropUnknown(path+": outputFormat."+format.Content[j].Value, format.Content[j+1], fieldKeys)
			}
		}
	}
	return yaml.Marshal(&doc)
}

func (c *converter) dropUnknown(path string, node *yaml.Node, known []string) {
	if node.Kind != yaml.MappingNode {
		return
	}
	kept := make([]*yaml.Node, 0, len(node.Content))
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i].Value; !slices.Contains(known, key) {
			c.note(path, "a card has no field %q; left out", key)
			continue
		}
		kept = append(kept, node.Content[i], node.Content[i+1])
	}
	node.Content = kept
}

var fieldTypes = map[string]v1alpha1.PersonaFieldType{
	"number": v1alpha1.PersonaFieldNumber, "boolean": v1alpha1.PersonaFieldBoolean,
}

// personaSpec is the reverse of what composing makes of a Persona.
func (c *converter) personaSpec(path string, card kernelconfig.Persona) v1alpha1.PersonaSpec {
	spec := v1alpha1.PersonaSpec{
		DisplayName: card.Name, Description: card.Description, Prompt: card.Prompt, Greeting: card.Greeting,
		Traits: c.set(path+": traits", card.Traits), NickNames: c.set(path+": nick_name", card.NickNames),
	}
	if card.ClientSideJSONRendering {
		spec.Rendering = v1alpha1.PersonaRenderingClient
	}
	if card.Skills != nil {
		spec.Skills = &v1alpha1.PersonaSkills{Policy: v1alpha1.PersonaSkillsOnly, Names: c.set(path+": skills", card.Skills)}
	}
	f := card.OutputFormat
	if f == nil {
		return spec
	}
	spec.OutputFormat = &v1alpha1.PersonaOutputFormat{Prompt: f.Prompt, Retries: f.Retries}
	if f.Retries != nil && *f.Retries > maxRetries {
		most := int32(maxRetries)
		spec.OutputFormat.Retries = &most
		c.note(path+": outputFormatRetries", "at most %d, got %d; lowered", maxRetries, *f.Retries)
	}
	for _, o := range f.Fields {
		field := v1alpha1.PersonaOutputField{Name: o.Name, Description: o.Description, Type: fieldTypes[o.Type]}
		if o.Reply {
			field.Role = v1alpha1.PersonaFieldReply
		}
		spec.OutputFormat.Fields = append(spec.OutputFormat.Fields, field)
	}
	return spec
}

// set leaves out what a list has twice or empty, which the API refuses.
func (c *converter) set(path string, items []string) []string {
	var out []string
	for _, item := range items {
		if item == "" || slices.Contains(out, item) {
			c.note(path, "%q is empty or there twice; left out", item)
			continue
		}
		out = append(out, item)
	}
	return out
}

// choosePersona takes the card that the module persona names, and offers the others to sessions.
func (c *converter) choosePersona() {
	chosen := ""
	if p := c.byModule(personaModule); p != nil {
		if dir, ok := p.config["personasDir"]; ok {
			delete(p.config, "personasDir")
			c.note(p.path+".personasDir", "cards are objects now; those of --personas were taken, not those of %v", dir)
		}
		if name, ok := p.config["persona"].(string); ok {
			delete(p.config, "persona")
			if chosen = c.cards[name]; chosen == "" && name != "" && name != "default" {
				c.note(p.path+".persona", "there is no card %q among those of --personas; the bot speaks as the built-in one", name)
			}
		}
	}
	if chosen == "" {
		chosen = c.cards["default"]
	}
	if chosen != "" {
		c.bot.Spec.PersonaRef = &v1alpha1.LocalReference{Name: chosen}
	}
	for _, p := range c.out.Personas {
		switch {
		case p.Name == chosen:
		case len(c.bot.Spec.Personas) == maxPersonas:
			c.note("persona card "+p.Name, "a bot offers at most %d further personas; it is an object that no bot lists", maxPersonas)
		default:
			c.bot.Spec.Personas = append(c.bot.Spec.Personas, v1alpha1.LocalReference{Name: p.Name})
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
)

// defaultSource is by which name the built-in card is chosen.
const defaultSource = "default"

// defaultCard is who the bot is when nobody says so.
func defaultCard() persona.Card {
	return persona.Card{
		Source:      defaultSource,
		Name:        "Aalis",
		Description: "你是一个友善、可靠的聊天伙伴。",
		Traits:      []string{"温和", "诚实", "简洁"},
		Prompt: "用对方使用的语言自然地交谈，回答准确而简短。不知道的事情就说不知道，不编造。" +
			"需要更多信息时，先问清楚再回答。",
	}
}

// check reports what makes a card unfit to speak as. Field names are those of the setting.
func check(field string, c persona.Card) error {
	var errs []error
	if strings.TrimSpace(c.Name) == "" {
		errs = append(errs, errors.New(field+".name must not be empty"))
	}
	if strings.TrimSpace(c.Prompt) == "" {
		errs = append(errs, errors.New(field+".prompt must not be empty"))
	}
	return errors.Join(errs...)
}

// checkFormat reports what makes an output format unusable. The card is fit without it.
func checkFormat(field string, f *persona.OutputFormat) error {
	var errs []error
	if _, ok := f.ReplyField(); !ok {
		errs = append(errs, errors.New(field+".outputFormat.fields must mark one field as the reply"))
	}
	seen := map[string]bool{}
	for i, of := range f.Fields {
		switch {
		case strings.TrimSpace(of.Name) == "":
			errs = append(errs, fmt.Errorf("%s.outputFormat.fields[%d].name must not be empty", field, i))
		case seen[of.Name]:
			errs = append(errs, fmt.Errorf("%s.outputFormat.fields[%d].name may not be used twice, got %q", field, i, of.Name))
		}
		seen[of.Name] = true
	}
	return errors.Join(errs...)
}

// normal gives a card of its own whose field types are known ones: any other is a string.
func normal(c persona.Card) persona.Card {
	c = c.Clone()
	if c.OutputFormat == nil {
		return c
	}
	for i := range c.OutputFormat.Fields {
		switch f := &c.OutputFormat.Fields[i]; f.Type {
		case persona.FieldString, persona.FieldNumber, persona.FieldBoolean:
		default:
			f.Type = persona.FieldString
		}
	}
	return c
}

// role is a card with the texts made from it. It is never modified.
type role struct {
	card persona.Card
	// plain opens every prompt, structured does so where replies must have the card's output format.
	plain, structured string
}

func newRole(c persona.Card) *role {
	c = normal(c)
	r := &role{card: c, plain: systemPrompt(c)}
	r.structured = r.plain
	if f := c.Format(persona.Options{}); f != nil {
		r.structured += "\n\n" + formatPrompt(f)
	}
	return r
}

// systemPrompt writes the text that opens every prompt. It depends on nothing but the card. The parts follow each other
// on one line, so that the first line, which logs and test servers show, tells one card from another.
func systemPrompt(c persona.Card) string {
	parts := []string{"你的名字是" + strings.TrimSpace(c.Name) + "。"}
	if d := strings.TrimSpace(c.Description); d != "" {
		parts = append(parts, d)
	}
	if traits := nonBlank(c.Traits); len(traits) > 0 {
		parts = append(parts, "性格特征："+strings.Join(traits, "、")+"。")
	}
	return strings.Join(append(parts, strings.TrimSpace(c.Prompt)), " ")
}

// nonBlank gives the texts that say something, trimmed.
func nonBlank(texts []string) []string {
	var out []string
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

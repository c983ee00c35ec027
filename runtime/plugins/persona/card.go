// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"errors"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
)

// defaultCard is who the bot is when nobody says so.
func defaultCard() persona.Card {
	return persona.Card{
		Source:      "default",
		Name:        "Aalis",
		Description: "你是一个友善、可靠的聊天伙伴。",
		Traits:      []string{"温和", "诚实", "简洁"},
		Prompt: "用对方使用的语言自然地交谈，回答准确而简短。不知道的事情就说不知道，不编造。" +
			"需要更多信息时，先问清楚再回答。",
	}
}

// check reports what makes a card unfit to speak as.
func check(c persona.Card) error {
	var errs []error
	if strings.TrimSpace(c.Name) == "" {
		errs = append(errs, errors.New("persona.name must not be empty"))
	}
	if strings.TrimSpace(c.Prompt) == "" {
		errs = append(errs, errors.New("persona.prompt must not be empty"))
	}
	return errors.Join(errs...)
}

// systemPrompt writes the text that opens every prompt. It depends on nothing but the card. The parts follow each other
// on one line, so that the first line, which logs and test servers show, tells one card from another.
func systemPrompt(c persona.Card) string {
	parts := []string{"你的名字是" + strings.TrimSpace(c.Name) + "。"}
	if d := strings.TrimSpace(c.Description); d != "" {
		parts = append(parts, d)
	}
	var traits []string
	for _, t := range c.Traits {
		if t = strings.TrimSpace(t); t != "" {
			traits = append(traits, t)
		}
	}
	if len(traits) > 0 {
		parts = append(parts, "性格特征："+strings.Join(traits, "、")+"。")
	}
	return strings.Join(append(parts, strings.TrimSpace(c.Prompt)), " ")
}

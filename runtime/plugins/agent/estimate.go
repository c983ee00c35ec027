// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// messageTokens is what a message costs before its text.
const messageTokens = 4

// estimateText counts the tokens of a text without a tokenizer: 1.5 for each CJK code unit, and for each maximal run of
// others a token per 3.5 UTF-16 code units, rounded up; the sum is rounded up.
func estimateText(s string) int {
	halves, run := 0, 0 // half tokens, and the units of the present run
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			run++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case isCJK(r):
			halves += 3 + 2*runTokens(run)
			run = 0
		case r > 0xFFFF:
			run += 2
		default:
			run++
		}
	}
	return (halves+1)/2 + runTokens(run)
}

// runTokens is a number of units divided by 3.5, rounded up.
func runTokens(units int) int { return (2*units + 6) / 7 }

func isCJK(r rune) bool {
	switch {
	case r < 0x2E80:
		return false
	case r <= 0x9FFF, r >= 0xA000 && r <= 0xA4FF, r >= 0xAC00 && r <= 0xD7FF, r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFE30 && r <= 0xFE4F, r >= 0xFF00 && r <= 0xFFEF:
		return true
	default:
		return false
	}
}

// estimateMessage counts a message. Images, the name and segments are free.
func estimateMessage(m message.Message) int {
	n := messageTokens + estimateText(m.Content) + estimateText(m.ReasoningContent)
	if len(m.ToolCalls) > 0 {
		n += estimateJSON(m.ToolCalls)
	}
	return n
}

func estimateMessages(list []message.Message) int {
	n := 0
	for _, m := range list {
		n += estimateMessage(m)
	}
	return n
}

// estimateTools counts what the definitions of tools add to a request.
func estimateTools(tools []message.ToolDefinition) int {
	if len(tools) == 0 {
		return 0
	}
	return estimateJSON(tools)
}

// estimateJSON counts a value as the JSON that providers send, which does not escape HTML.
func estimateJSON(v any) int {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return 0 // it cannot be sent either
	}
	return estimateText(string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))))
}

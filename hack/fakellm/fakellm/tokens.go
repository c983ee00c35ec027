// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

const (
	unitsPerToken    = 4  // UTF-16 code units
	tokensPerMessage = 4  // role and framing
	tokensPerMedia   = 85 // an image, audio or file part
)

// units returns the length of s in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// tokensOf returns the tokens of n UTF-16 code units: a quarter, rounded up.
func tokensOf(n int) int { return (n + unitsPerToken - 1) / unitsPerToken }

// cutUnits returns the longest prefix of s of at most n UTF-16 code units that ends between two characters.
func cutUnits(s string, n int) string {
	for i, r := range s {
		n--
		if r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// promptTokens returns the tokens of a prompt element by element: the tools first when there are any, then each message.
func promptTokens(req *chatRequest) (elements [][]byte, tokens []int) {
	elements = make([][]byte, 0, len(req.messages)+1)
	tokens = make([]int, 0, len(req.messages)+1)
	if len(req.tools) > 0 {
		elements = append(elements, req.toolsRaw)
		tokens = append(tokens, tokensOf(units(string(req.toolsRaw))))
	}
	for i := range req.messages {
		m := &req.messages[i]
		elements = append(elements, m.raw)
		tokens = append(tokens, messageTokens(m))
	}
	return elements, tokens
}

func messageTokens(m *message) int {
	n := units(m.Content.text) + units(m.ReasoningContent)
	for _, c := range m.ToolCalls {
		n += units(c.Function.Name) + units(c.Function.Arguments)
	}
	return tokensPerMessage + tokensOf(n) + tokensPerMedia*m.Content.media
}

// Usage is what one request, or a set of requests, was billed, in tokens.
type Usage struct {
	// PromptTokens counts the whole prompt, cached part included.
	PromptTokens int `json:"promptTokens"`
	// CachedTokens is the part of PromptTokens that an earlier prompt had as its prefix.
	CachedTokens int `json:"cachedTokens"`
	// CompletionTokens counts the answer, reasoning and tool calls included.
	CompletionTokens int `json:"completionTokens"`
	// ReasoningTokens is the part of CompletionTokens that is reasoning.
	ReasoningTokens int `json:"reasoningTokens"`
}

// output counts what of an answer was sent, in UTF-16 code units.
type output struct {
	reasoning, content, calls int
}

func (o output) apply(u *Usage) {
	u.ReasoningTokens = tokensOf(o.reasoning)
	u.CompletionTokens = u.ReasoningTokens + tokensOf(o.content) + tokensOf(o.calls)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"regexp"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// maxHeld bounds what is held back because it may be the beginning of a tag, in bytes. A tag has a bar or two.
const maxHeld = 64

// beginning finds what may be the beginning of a tag at the end of a text.
var beginning = regexp.MustCompile(`<(?:` + bars + `+ ?(?:D(?:S(?:M)?)?)?)?$`)

// filter takes the markup of tool calls out of a streamed reply. What is before it is handed on at once, but for a few
// characters at the end of a piece that may belong to a tag.
type filter struct {
	onChunk func(llm.Chunk) error
	now     func() time.Time

	held   string
	markup strings.Builder // from the first tag on
}

// chunk hands on what of a piece of the reply is no markup. With the last one come the calls that the markup holds, unless
// the server has read calls itself.
func (f *filter) chunk(c llm.Chunk) error {
	if c.ContentDelta != "" {
		c.ContentDelta = f.text(c.ContentDelta)
	}
	if c.Done {
		c.ContentDelta += f.held
		f.held = ""
		if len(c.ToolCalls) == 0 && f.markup.Len() > 0 {
			c.ToolCalls = parseMarkup(f.markup.String(), f.now())
		}
	}
	if !c.Done && c.ContentDelta == "" && c.ReasoningDelta == "" && c.ToolCallProgress == nil && c.Usage == nil {
		return nil
	}
	return f.onChunk(c)
}

// text gives what of a piece, and of what was held before, can be handed on.
func (f *filter) text(delta string) string {
	if f.markup.Len() > 0 {
		f.markup.WriteString(delta)
		return ""
	}
	if f.held == "" && !strings.ContainsRune(delta, '<') {
		return delta
	}
	all := f.held + delta
	f.held = ""
	before, markup := cutMarkup(all)
	if markup != "" {
		f.markup.WriteString(markup)
		return before
	}
	from := max(0, len(all)-maxHeld)
	if at := beginning.FindStringIndex(all[from:]); at != nil {
		f.held = all[from+at[0]:]
		return all[:from+at[0]]
	}
	return all
}

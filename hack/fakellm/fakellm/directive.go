// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// directives is what a user text asks of its answer. See README.md for the syntax.
type directives struct {
	say       string
	hasSay    bool
	reasoning string
	repeat    int // 0 means not asked
	chunks    int // 0 means not asked
	tools     []toolDirective
	faults    []Fault
	usage     *usageOverride
}

// toolDirective asks for one tool call.
type toolDirective struct {
	name      string
	arguments string // sent as is; #tool and #toolloop only accept a JSON object
	loop      bool   // asked again after its result
}

// usageOverride replaces the counted tokens; nil fields are counted.
type usageOverride struct {
	prompt, cached, completion *int
}

// parseDirectives finds every directive in text. Text without any is fine; a directive with a bad argument is an error.
func parseDirectives(text string) (directives, error) {
	p := directiveParser{text: text}
	for p.next() {
		if err := p.parse(); err != nil {
			return directives{}, err
		}
	}
	return p.out, nil
}

type directiveParser struct {
	text string
	pos  int // behind the word
	word string
	out  directives
}

// next moves behind the next "#word". A "#" behind an ASCII letter, digit, "_" or "#", such as in "C#say", begins none, and
// neither does a longer word, such as "#saying" or "#say-so".
func (p *directiveParser) next() bool {
	for {
		i := strings.IndexByte(p.text[p.pos:], '#')
		if i < 0 {
			return false
		}
		at := p.pos + i
		p.pos = at + 1
		if at > 0 && (p.text[at-1] == '#' || isWordByte(rune(p.text[at-1]))) {
			continue
		}
		p.word = p.take(func(r rune) bool { return r >= 'a' && r <= 'z' })
		after, _ := utf8.DecodeRuneInString(p.text[p.pos:])
		if p.word != "" && after != '_' && after != '-' && !unicode.IsLetter(after) && !unicode.IsDigit(after) {
			return true
		}
	}
}

func (p *directiveParser) parse() error {
	var err error
	switch p.word {
	case "say":
		line := p.line()
		if p.out.hasSay {
			line = p.out.say + "\n" + line
		}
		p.out.say, p.out.hasSay = line, true
	case "reasoning":
		line := p.line()
		if p.out.reasoning != "" {
			line = p.out.reasoning + "\n" + line
		}
		p.out.reasoning = line
	case "repeat":
		p.out.repeat, err = p.number(1, maxRepeat)
	case "chunks":
		p.out.chunks, err = p.number(1, maxPieces)
	case "tool", "toolloop":
		err = p.tool(p.word == "toolloop")
	case "toolraw":
		err = p.toolRaw()
	case "fault":
		err = p.fault()
	case "usage":
		err = p.usage()
	}
	if err != nil {
		return fmt.Errorf("directive #%s: %w", p.word, err)
	}
	return nil
}

// take returns the longest run of runes that ok accepts, and moves behind it.
func (p *directiveParser) take(ok func(rune) bool) string {
	rest := p.text[p.pos:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !ok(r) })
	if n < 0 {
		n = len(rest)
	}
	p.pos += n
	return rest[:n]
}

// blanks skips spaces and tabs, not line ends.
func (p *directiveParser) blanks() {
	p.take(func(r rune) bool { return r == ' ' || r == '\t' })
}

// line returns the rest of the line without the one blank that separates it from the word.
func (p *directiveParser) line() string {
	s := p.take(func(r rune) bool { return r != '\n' })
	s = strings.TrimSuffix(s, "\r")
	if s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func (p *directiveParser) number(least, most int) (int, error) {
	p.blanks()
	digits := p.take(func(r rune) bool { return r >= '0' && r <= '9' })
	n, err := strconv.Atoi(digits)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", digits, least, most)
	}
	return n, nil
}

func (p *directiveParser) toolName() (string, error) {
	p.blanks()
	name := p.take(func(r rune) bool { return isWordByte(r) || r == '-' || r == '.' || r == ':' })
	if name == "" || len(name) > maxToolName {
		return "", fmt.Errorf("the tool name %q is not allowed: 1 to %d characters out of letters, digits and _ - . : are", name, maxToolName)
	}
	if len(p.out.tools) == maxDirectiveTools {
		return "", fmt.Errorf("too many tool calls: at most %d", maxDirectiveTools)
	}
	return name, nil
}

func (p *directiveParser) tool(loop bool) error {
	name, err := p.toolName()
	if err != nil {
		return err
	}
	p.blanks()
	arguments := json.RawMessage("{}")
	if rest := p.text[p.pos:]; strings.HasPrefix(rest, "{") {
		dec := json.NewDecoder(strings.NewReader(rest))
		if err := dec.Decode(&arguments); err != nil {
			return fmt.Errorf("the arguments of %s are not a JSON object: %w", name, err)
		}
		p.pos += int(dec.InputOffset())
	}
	p.out.tools = append(p.out.tools, toolDirective{name: name, arguments: string(arguments), loop: loop})
	return nil
}

// toolRaw takes the rest of the line as arguments, so that tests can send what is not JSON.
func (p *directiveParser) toolRaw() error {
	name, err := p.toolName()
	if err != nil {
		return err
	}
	p.out.tools = append(p.out.tools, toolDirective{name: name, arguments: p.line()})
	return nil
}

// settings calls set for each of the "key=value" words that follow.
func (p *directiveParser) settings(set func(key, value string) error) error {
	for {
		p.blanks()
		start := p.pos
		key, value, ok := strings.Cut(p.take(func(r rune) bool { return !unicode.IsSpace(r) }), "=")
		if !ok {
			p.pos = start
			return nil
		}
		if err := set(key, value); err != nil {
			return err
		}
	}
}

func (p *directiveParser) fault() error {
	p.blanks()
	f := Fault{Kind: Kind(p.take(func(r rune) bool { return isWordByte(r) || r == '-' }))}
	if err := p.settings(f.set); err != nil {
		return err
	}
	f, err := f.normalise()
	if err != nil {
		return err
	}
	p.out.faults = append(p.out.faults, f)
	return nil
}

func (p *directiveParser) usage() error {
	o := &usageOverride{}
	err := p.settings(func(key, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<40 {
			return fmt.Errorf("%s=%q is not a whole number of tokens", key, value)
		}
		switch key {
		case "prompt":
			o.prompt = &n
		case "cached":
			o.cached = &n
		case "completion":
			o.completion = &n
		default:
			return fmt.Errorf("setting %q is not known: use prompt, cached or completion", key)
		}
		return nil
	})
	p.out.usage = o
	return err
}

// apply replaces the tokens that the directive names.
func (o *usageOverride) apply(u *Usage) {
	if o == nil {
		return
	}
	if o.prompt != nil {
		u.PromptTokens = *o.prompt
		u.CachedTokens = min(u.CachedTokens, u.PromptTokens)
	}
	if o.cached != nil {
		u.CachedTokens = min(*o.cached, u.PromptTokens)
	}
	if o.completion != nil {
		u.CompletionTokens = *o.completion
		u.ReasoningTokens = min(u.ReasoningTokens, u.CompletionTokens)
	}
}

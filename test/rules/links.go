// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	fence      = regexp.MustCompile("(?s)(^|\n)[ \t]*```.*?\n[ \t]*```[^\n]*")
	inlineCode = regexp.MustCompile("`+[^`\n]*`+")
	link       = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	scheme     = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
	heading    = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*\s*$`)
)

// Links finds links of Markdown pages to files that are not there or headings that the page does not have. Links that
// leave the repository are not followed.
func Links(t Tree) []Finding {
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(t.Text)) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for number, line := range strings.Split(withoutCode(t.Text[name]), "\n") {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				if message := t.broken(name, match[1]); message != "" {
					out = append(out, Finding{Path: name, Line: number + 1, Message: message})
				}
			}
		}
	}
	return out
}

// withoutCode blanks out code and keeps the line breaks, so that line numbers stay true.
func withoutCode(text string) string {
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	return inlineCode.ReplaceAllStringFunc(fence.ReplaceAllStringFunc(text, blank), blank)
}

func (t Tree) broken(page, target string) string {
	if scheme.MatchString(target) {
		return ""
	}
	file, fragment, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if strings.HasPrefix(file, "/") || to == ".." || strings.HasPrefix(to, "../") {
		return fmt.Sprintf("the link %s must stay in the repository and be relative", target)
	}
	if !t.Paths[to] {
		return fmt.Sprintf("the link %s leads to no file", target)
	}
	if fragment != "" && strings.HasSuffix(to, ".md") && !anchors(t.Text[to])[fragment] {
		return fmt.Sprintf("the link %s leads to no heading of %s", target, to)
	}
	return ""
}

// anchors are the fragments of a page's headings, as the usual renderers make them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(fence.ReplaceAllString(text, "\n")) {
		match := heading.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if match == nil {
			continue
		}
		base := slug(match[1])
		name := base
		for i := 1; out[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		out[name] = true
	}
	return out
}

func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, title)
}

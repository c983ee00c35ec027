// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package textrepair

import "strings"

const (
	dsml        = "DSML"
	bar         = '|'
	fullBar     = "｜" // U+FF5C, the bar of the models' own vocabulary
	tagStoppers = ">\n<"
)

// StripDSML removes the markers of tool calls that a server failed to read, as <｜DSML｜invoke name="x">: a block that is
// opened and closed goes with all that is in it, a single tag alone, and a tag that breaks off up to the end of its line.
// If anything was removed, the rest is trimmed.
func StripDSML(text string) (stripped string, removed bool) {
	if !strings.Contains(text, dsml) {
		return text, false
	}
	tags := dsmlTags(text)
	if len(tags) == 0 {
		return text, false
	}
	pair(tags)
	var b strings.Builder
	at := 0
	for _, t := range tags {
		if t.start < at {
			continue // inside of a block that is gone
		}
		b.WriteString(text[at:t.start])
		at = t.blockEnd
	}
	b.WriteString(text[at:])
	return strings.TrimSpace(b.String()), true
}

// dsmlTag is one tag in a text.
type dsmlTag struct {
	start, end int
	name       string
	closing    bool
	blockEnd   int // where the block that the tag opens ends, or the tag itself
}

// dsmlTags finds all tags, in order.
func dsmlTags(text string) []dsmlTag {
	var tags []dsmlTag
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			return tags
		}
		at += next
		tag, ok := readTag(text, at)
		if !ok {
			at++
			continue
		}
		tags = append(tags, tag)
		at = tag.end
	}
}

// readTag reads the tag whose angle bracket is at start.
func readTag(text string, start int) (dsmlTag, bool) {
	rest, closing := strings.CutPrefix(text[start+1:], "/")
	marker := skipBars(rest)
	if len(marker) == len(rest) {
		return dsmlTag{}, false
	}
	after, ok := strings.CutPrefix(strings.TrimLeft(marker, " "), dsml)
	if !ok {
		return dsmlTag{}, false
	}
	name := strings.TrimLeft(skipBars(after), " ")
	name = name[:identifier(name)]
	end := start + len(text[start:]) - len(after)
	switch stop := strings.IndexAny(after, tagStoppers); {
	case stop < 0:
		end = len(text)
	case after[stop] == '>':
		end += stop + 1
	default:
		end += stop
	}
	return dsmlTag{start: start, end: end, name: name, closing: closing, blockEnd: end}, true
}

func skipBars(s string) string {
	for {
		switch {
		case s != "" && s[0] == bar:
			s = s[1:]
		case strings.HasPrefix(s, fullBar):
			s = s[len(fullBar):]
		default:
			return s
		}
	}
}

// identifier is the length of the name that a text begins with.
func identifier(s string) int {
	for i := range len(s) {
		if c := s[i] | 0x20; s[i] != '_' && s[i] != '-' && (c < 'a' || c > 'z') {
			return i
		}
	}
	return len(s)
}

// pair gives each opening tag the end of its block. A block ends at the next closing tag of its name that no block within
// it takes.
func pair(tags []dsmlTag) {
	var open []int
	waiting := map[string]int{} // how many in open have a name
	for i := range tags {
		t := &tags[i]
		if !t.closing {
			open = append(open, i)
			waiting[t.name]++
			continue
		}
		for found := waiting[t.name] == 0; !found; {
			top := &tags[open[len(open)-1]]
			open = open[:len(open)-1]
			waiting[top.name]--
			if found = top.name == t.name; found {
				top.blockEnd = t.end
			}
		}
	}
}

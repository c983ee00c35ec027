// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"strings"
	"unicode"
)

// generated opens every page.
const generated = "<!-- Written by make generate: change the source, not this file. -->\n\n"

// maxDescription is where the description of a field is cut, at the end of a sentence. Our own comments are shorter;
// those of embedded Kubernetes types are essays.
const maxDescription = 320

// code is text as inline code that stands in a table cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(oneLine(text), "|", `\|`) + fence
}

// codes is a list of inline code.
func codes(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = code(t)
	}
	return strings.Join(out, ", ")
}

var proseEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`")

// prose is text for people that stands in a table cell or paragraph: one line, with nothing that Markdown would read.
func prose(text string) string { return proseEscapes.Replace(oneLine(text)) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// brief is the first paragraph of a description, cut at the end of a sentence when it is long, as a sentence.
func brief(text string) string {
	first, _, _ := strings.Cut(text, "\n\n")
	first = oneLine(first)
	for len(first) > maxDescription {
		i := strings.LastIndex(first[:len(first)-1], ". ")
		if i < 0 {
			break
		}
		first = first[:i+1]
	}
	if first == "" {
		return ""
	}
	if last := []rune(first)[len([]rune(first))-1]; unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' {
		first += "."
	}
	return prose(first)
}

// table collects rows and writes them as a Markdown table; it leaves out columns that are empty in every row.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(b *strings.Builder) {
	var used []int
	for i := range t.header {
		for _, row := range t.rows {
			if row[i] != "" {
				used = append(used, i)
				break
			}
		}
	}
	line := func(cells []string) {
		for _, i := range used {
			b.WriteString("| " + cells[i] + " ")
		}
		b.WriteString("|\n")
	}
	line(t.header)
	b.WriteString(strings.Repeat("|---", len(used)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package textrepair

import "strings"

// FixTables gives each Markdown table as many columns in its separator row as its header row has, without which it would
// not be shown as a table: what is too much is cut, what is missing becomes ---. The alignment marks stay. Code blocks and
// code spans are left as they are.
func FixTables(text string) string {
	if !strings.Contains(text, "|") || !strings.Contains(text, "-") {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	code := codeLines(lines)
	changed, body := false, false
	for i := 1; i < len(lines); i++ {
		above, line := lines[i-1], lines[i]
		switch {
		case code[i] || code[i-1] || !hasBar(above):
			body = false
			continue
		case body:
			continue // a row of a table, whatever it holds
		}
		cells, ok := separator(line)
		if !ok {
			continue
		}
		if _, again := separator(above); again {
			continue
		}
		body = true
		if want := len(split(above)); want != len(cells) {
			lines[i] = separatorLine(line, above, cells, want)
			changed = true
		}
	}
	if !changed {
		return text
	}
	return strings.Join(lines, "")
}

// separator gives the trimmed cells of a separator row.
func separator(line string) (cells []string, ok bool) {
	if strings.Trim(line, "|:- \t\r\n") != "" || !strings.Contains(line, "-") {
		return nil, false
	}
	cells = split(line)
	for i, c := range cells {
		c = strings.TrimSpace(c)
		dashes := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil, false
		}
		cells[i] = c
	}
	return cells, true
}

// split gives the cells of a row as they are. Outer bars make no cells, escaped bars separate none.
func split(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	from, escaped := 0, false
	for i := range len(line) {
		switch {
		case escaped:
			escaped = false
		case line[i] == '\\':
			escaped = true
		case line[i] == '|':
			cells = append(cells, line[from:i])
			from = i + 1
		}
	}
	if from < len(line) || len(cells) == 0 {
		cells = append(cells, line[from:])
	}
	return cells
}

func hasBar(line string) bool {
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			return true
		}
	}
	return false
}

// separatorLine writes a separator row of so many columns in the style of the old one, or in that of the header if the
// old one has no bar.
func separatorLine(old, header string, cells []string, want int) string {
	style := strings.TrimSpace(old)
	indent := old[:len(old)-len(strings.TrimLeft(old, " \t"))]
	ending := old[len(strings.TrimRight(old, "\r\n")):]
	if !strings.Contains(style, "|") {
		style = strings.TrimSpace(header)
	}
	for len(cells) < want {
		cells = append(cells, "---")
	}
	space := ""
	if strings.ContainsAny(style, " \t") {
		space = " "
	}
	row := strings.Join(cells[:want], space+"|"+space)
	if strings.HasPrefix(style, "|") {
		row = "|" + space + row
	}
	if strings.HasSuffix(style, "|") || want == 1 && !strings.HasPrefix(style, "|") {
		row += space + "|" // one column needs a bar somewhere
	}
	return indent + row + ending
}

// codeLines tells which lines belong to code: a fenced block, or a code span that began on a line before.
func codeLines(lines []string) []bool {
	code := make([]bool, len(lines))
	fence := ""    // that which opened the block
	paragraph := 0 // where the lines began that a code span may reach over
	for i, line := range lines {
		mark := fenceOf(line)
		switch {
		case fence != "":
			code[i] = true
			if closes(mark, fence, line) {
				fence, paragraph = "", i+1
			}
		case mark != "":
			spans(lines[paragraph:i], code[paragraph:i])
			code[i], fence = true, mark
		case strings.TrimSpace(line) == "":
			spans(lines[paragraph:i], code[paragraph:i])
			paragraph = i + 1
		}
	}
	if fence == "" {
		spans(lines[paragraph:], code[paragraph:])
	}
	return code
}

// fenceOf gives the fence that a line begins with, at least three backticks or tildes, or nothing.
func fenceOf(line string) string {
	s := strings.TrimLeft(line, " \t")
	if s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

func closes(mark, fence, line string) bool {
	return mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(line) == mark
}

// spans marks the lines of a paragraph that begin inside of a code span.
func spans(lines []string, code []bool) {
	type run struct{ line, size int }
	var runs []run
	for i, line := range lines {
		for j := 0; j < len(line); {
			if line[j] != '`' {
				j++
				continue
			}
			size := len(line[j:]) - len(strings.TrimLeft(line[j:], "`"))
			runs = append(runs, run{i, size})
			j += size
		}
	}
	next := make([]int, len(runs)) // the next run of the same size, which closes a span
	seen := map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		next[i] = seen[runs[i].size] // 0 is none, since no run comes before itself
		seen[runs[i].size] = i
	}
	for i := 0; i < len(runs); i++ {
		end := next[i]
		if end <= i {
			continue
		}
		for l := runs[i].line + 1; l <= runs[end].line; l++ {
			code[l] = true
		}
		i = end
	}
}

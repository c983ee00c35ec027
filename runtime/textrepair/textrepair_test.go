// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package textrepair

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCandidate(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"plain":                        {`{"a":1}`, `{"a":1}`},
		"no brace":                     {" hello ", "hello"},
		"empty":                        {"", ""},
		"fence":                        {"```json\n{\"a\":1}\n```", `{"a":1}`},
		"fence in capitals":            {"```JSON {\"a\":1}```", `{"a":1}`},
		"bare fence":                   {"```\n{\"a\":1}\n```", `{"a":1}`},
		"fence that never closes":      {"```json\n{\"a\":1}", `{"a":1}`},
		"prose around":                 {`Sure: {"a":1} there`, `{"a":1}`},
		"the last object":              {`{"a":1} or {"b":2}`, `{"b":2}`},
		"set literals are skipped":     {`{"a":1} of {1,2}`, `{"a":1}`},
		"set literal first":            {`in {1,2}: {"a":1}`, `{"a":1}`},
		"only a set":                   {`x {1,2} y`, `{1,2}`},
		"nested is no candidate":       {`{"a":{"b":1}} end`, `{"a":{"b":1}}`},
		"braces in strings":            {`{"a":"}{"} x`, `{"a":"}{"}`},
		"escaped quotes":               {`{"a":"\"}"} x`, `{"a":"\"}"}`},
		"truncated":                    {`say {"a": [1, {"b"`, `{"a": [1, {"b"`},
		"complete, then truncated":     {`{"a":1} {"b": "x`, `{"a":1}`},
		"truncated, then complete":     {`{"b": "x {"a":1}`, `{"b": "x {"a":1}`},
		"set, then truncated":          {`{1,2} {"b": "x`, `{1,2}`},
		"a closing brace comes before": {`} {"a":1}`, `{"a":1}`},
	} {
		if got := Candidate(tc.raw); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestFindObject(t *testing.T) {
	for name, tc := range map[string]struct {
		raw, want string // want is the compact text; empty is no object
		repairs   []Repair
	}{
		"right":                  {`{"b": 1, "a": "x"}`, `{"b":1,"a":"x"}`, nil},
		"no HTML escapes":        {`{"a":"<&>"}`, `{"a":"<&>"}`, nil},
		"an array":               {`[1]`, "", nil},
		"null":                   {`null`, "", nil},
		"a text":                 {`"a"`, "", nil},
		"prose":                  {"hello", "", nil},
		"inner quotes":           {`{"message":"he said "hi" to me"}`, `{"message":"he said \"hi\" to me"}`, []Repair{InnerQuotes}},
		"inner quotes and comma": {`{"message":"so "a", then b","n":1}`, `{"message":"so \"a\", then b","n":1}`, []Repair{InnerQuotes}},
		"comma and a literal":    {`{"m":["a "b"",true]}`, `{"m":["a \"b\"",true]}`, []Repair{InnerQuotes}},
		"comma and a word":       {`{"m":"say "a", trueness"}`, `{"m":"say \"a\", trueness"}`, []Repair{InnerQuotes}},
		"comma and a number":     {`{"m":["x"y", -1, 2]}`, `{"m":["x\"y",-1,2]}`, []Repair{InnerQuotes}},
		"line break":             {"{\"a\":\"x\ny\tz\r\x01\"}", `{"a":"x\ny\tz\r\u0001"}`, []Repair{ControlCharacters}},
		"tag": {
			`{"message":"<face id="123"/> hi"}`, `{"message":"<face id=\"123\"/> hi"}`, []Repair{InnerQuotes},
		},
		"tag whose quote looks like an end": {
			`{"message":"<face id=":"/>x", }`, `{"message":"<face id=\":\"/>x"}`, []Repair{TagQuotes, TrailingCommas},
		},
		"trailing commas":     {`{"a":[1,2,],}`, `{"a":[1,2]}`, []Repair{TrailingCommas}},
		"comma in a string":   {`{"a":",}",}`, `{"a":",}"}`, []Repair{TrailingCommas}},
		"truncated list":      {`{"a":[{"b":1},{"c":"x`, `{"a":[{"b":1},{"c":"x"}]}`, []Repair{MissingClosers}},
		"truncated objects":   {`{"a":[{"b":1}`, `{"a":[{"b":1}]}`, []Repair{MissingClosers}},
		"truncated at comma":  {`{"a":[1,`, `{"a":[1]}`, []Repair{MissingClosers}},
		"truncated escape":    {`{"a":"x\`, `{"a":"x"}`, []Repair{MissingClosers}},
		"mismatched brackets": {`{"a":[1}`, "", nil},
		"beyond repair":       {`{a:1}`, "", nil},
		"several": {
			"```json\n{\"m\":\"he \"x\" y\",\"l\":[1,],\n```", `{"m":"he \"x\" y","l":[1]}`, []Repair{InnerQuotes, TrailingCommas, MissingClosers},
		},
		"complete before truncated": {`{"a":1} and {"a": 2, "b`, `{"a":1}`, nil},
		"invalid UTF-8":             {"{\"a\":\"\xff\"}", `{"a":"` + "\uFFFD" + `"}`, nil},
	} {
		got, ok := FindObject(tc.raw)
		if ok != (tc.want != "") || got.Text != tc.want || !slices.Equal(got.Repairs, tc.repairs) {
			t.Errorf("%s: got %q %v %v, want %q %v", name, got.Text, ok, got.Repairs, tc.want, tc.repairs)
			continue
		}
		var fields map[string]any
		if ok && (json.Unmarshal([]byte(got.Text), &fields) != nil || !cmp.Equal(fields, got.Fields)) {
			t.Errorf("%s: the text is not the fields: %q %v", name, got.Text, got.Fields)
		}
	}
}

func TestStripDSML(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":             {" a <b> ", " a <b> "},
		"only the word":       {" DSML is a word ", " DSML is a word "},
		"no bars":             {"<DSML>x", "<DSML>x"},
		"block":               {"hi <｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">1\n2</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls> ho", "hi  ho"},
		"half-width bars":     {"hi <|DSML|invoke name=\"f\">x</|DSML|invoke>", "hi"},
		"many bars":           {"hi <｜｜DSML｜｜invoke name=\"f\">x</｜｜DSML｜｜invoke>", "hi"},
		"mixed bars, space":   {"hi <|｜ DSML| invoke>x</| DSML|invoke>", "hi"},
		"dangling opening":    {"hi <｜DSML｜invoke name=\"f\"> there", "hi  there"},
		"dangling closing":    {"hi </｜DSML｜invoke> there", "hi  there"},
		"nested same name":    {"a<|DSML|x>b<|DSML|x>c</|DSML|x>d</|DSML|x>e", "ae"},
		"unclosed in block":   {"a<|DSML|x>b<|DSML|y>c</|DSML|x>d", "ad"},
		"other closing":       {"a<|DSML|x>b</|DSML|y>c", "abc"},
		"truncated tag":       {"hi <｜DSML｜invoke name=\"f", "hi"},
		"truncated mid-text":  {"hi <｜DSML｜invoke na\nthere > here", "hi \nthere > here"},
		"broken by a bracket": {"hi <｜DSML｜inv <b>x</b>", "hi <b>x</b>"},
		"no name":             {"hi <｜DSML｜>x", "hi x"},
	} {
		got, removed := StripDSML(tc.text)
		if got != tc.want || removed != (tc.text != tc.want) {
			t.Errorf("%s: got %q %v, want %q", name, got, removed, tc.want)
		}
	}
}

func TestFixTables(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"right":               {"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"},
		"too few":             {"| a | b | c |\n| --- | :-: |\n| 1 | 2 | 3 |", "| a | b | c |\n| --- | :-: | --- |\n| 1 | 2 | 3 |"},
		"too many":            {"|a|b|\n|:--|--:|---|\n|1|2|", "|a|b|\n|:--|--:|\n|1|2|"},
		"no outer bars":       {"a | b | c\n--- | ---\n1 | 2 | 3", "a | b | c\n--- | --- | ---\n1 | 2 | 3"},
		"separator of one":    {"| a | b |\n---\n", "| a | b |\n| --- | --- |\n"},
		"to one column":       {"| a |\n|---|---|\n", "| a |\n|---|\n"},
		"to one without bars": {"a|\n-|-\n", "a|\n-|\n"},
		"several":             {"|a|b|\n|-|\n|1|2|\n\n|a|\n|-|-|\n", "|a|b|\n|-|---|\n|1|2|\n\n|a|\n|-|\n"},
		"escaped bar":         {"| a \\| b | c |\n|---|---|\n", "| a \\| b | c |\n|---|---|\n"},
		"CRLF and indent":     {"  | a | b |\r\n  | - |\r\n", "  | a | b |\r\n  | - | --- |\r\n"},
		"rule":                {"text\n---\n|x|y|\n", "text\n---\n|x|y|\n"},
		"rule under escaped":  {"a \\| b\n---\n", "a \\| b\n---\n"},
		"fenced":              {"```\n|a|b|\n|-|\n```\n", "```\n|a|b|\n|-|\n```\n"},
		"tildes":              {"~~~md\n|a|b|\n|-|\n```\n~~~\n|a|b|\n|-|\n", "~~~md\n|a|b|\n|-|\n```\n~~~\n|a|b|\n|-|---|\n"},
		"unclosed fence":      {"x\n````\n|a|b|\n|-|\n```\n", "x\n````\n|a|b|\n|-|\n```\n"},
		"code span":           {"see `|a|b|\n|-|\n` there |", "see `|a|b|\n|-|\n` there |"},
		"a lone backtick":     {"` |a|b|\n|-|\n\n` x", "` |a|b|\n|-|---|---|\n\n` x"},
		"span on one line":    {"| `a` | b |\n|-|\n", "| `a` | b |\n|-|---|\n"},
		"double span":         {"``x `|a|b|\n|-|\n`` |", "``x `|a|b|\n|-|\n`` |"},
		"dashes in the body":  {"|a|b|\n|-|-|\n|x|y|\n|-|\n", "|a|b|\n|-|-|\n|x|y|\n|-|\n"},
		"two separators":      {"|-|-|\n|-|\n", "|-|-|\n|-|\n"},
		"empty cells":         {"|a|b|\n|-||-|\n", "|a|b|\n|-||-|\n"},
		"colons only":         {"|a|b|\n|:|:-:|\n", "|a|b|\n|:|:-:|\n"},
		"no table":            {"a-b", "a-b"},
	} {
		if got := FixTables(tc.text); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestLinear feeds what makes careless matchers slow. The bound is a hundred times what it takes.
func TestLinear(t *testing.T) {
	const n = 1 << 19
	for name, run := range map[string]func(){
		"bars":       func() { StripDSML("DSML" + strings.Repeat("|", n)) },
		"open bars":  func() { StripDSML("DSML" + strings.Repeat("<|", n)) },
		"full bars":  func() { StripDSML("DSML<" + strings.Repeat(fullBar, n)) },
		"tags":       func() { StripDSML(strings.Repeat("<|DSML|a>", n/8)) },
		"closings":   func() { StripDSML(strings.Repeat("<|DSML|a>", n/16) + strings.Repeat("</|DSML|b>", n/16)) },
		"fragments":  func() { StripDSML(strings.Repeat("<|DSML", n/8)) },
		"spaces":     func() { StripDSML("DSML" + strings.Repeat("<|"+strings.Repeat(" ", 64), n/64)) },
		"braces":     func() { FindObject(strings.Repeat("{", n)) },
		"objects":    func() { FindObject(strings.Repeat("{a}", n)) },
		"quotes":     func() { FindObject("{" + strings.Repeat(`"`, n)) },
		"quote gaps": func() { FindObject("{" + strings.Repeat(`" , `+strings.Repeat(" ", 64), n/64)) },
		"commas":     func() { FindObject("{" + strings.Repeat(", ", n)) },
		"lists":      func() { FindObject(`{"a":` + strings.Repeat("[", n)) },
		"half tags":  func() { FindObject(`{"a":"` + strings.Repeat(`<a b="`, n/8) + "/>") },
		"rows":       func() { FixTables(strings.Repeat("|a|b|\n|-|\n", n/8)) },
		"dashes":     func() { FixTables(strings.Repeat("|-", n)) },
		"backticks":  func() { FixTables("|-" + strings.Repeat("`\n``\n", n/4)) },
	} {
		start := time.Now()
		run()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

func FuzzFindObject(f *testing.F) {
	for _, s := range []string{
		`{"a":"x "y" z",}`, "```json\n{\"a\":[1,{\"b\":\"<c d=\"e\"/>", `{1,2} {"a":tru`, "{\"a\":\"\x00\\", "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c := Candidate(s); !strings.Contains(s, c) {
			t.Errorf("the candidate %q is no part of %q", c, s)
		}
		o, ok := FindObject(s)
		if !ok {
			return
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(o.Text), &fields); err != nil || fields == nil {
			t.Fatalf("%q became %q: %v", s, o.Text, err)
		}
		again, ok := ParseObject(o.Text)
		if !ok || len(again.Repairs) > 0 || again.Text != o.Text {
			t.Errorf("%q became %q and then %q %v", s, o.Text, again.Text, again.Repairs)
		}
	})
}

func FuzzStripDSML(f *testing.F) {
	for _, s := range []string{"a <｜DSML｜x>b</｜DSML｜x>", "<|DSML", "</|DSML|a><|DSML|a>", "<||||DSML|| x y=\"z\">\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, removed := StripDSML(s)
		if !removed && got != s {
			t.Errorf("%q became %q", s, got)
		}
		if removed && len(got) >= len(s) {
			t.Errorf("nothing went from %q: %q", s, got)
		}
	})
}

func FuzzFixTables(f *testing.F) {
	for _, s := range []string{"|a|b|\n|-|\n", "a|b\n---\n", "```\n|a|\n|-|-|\n```", "`|a\n|-|\n`", "|\\|\n|-\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := FixTables(s)
		if again := FixTables(got); again != got {
			t.Errorf("%q became %q and then %q", s, got, again)
		}
		if strings.Count(got, "\n") != strings.Count(s, "\n") {
			t.Errorf("%q became %q: other lines", s, got)
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseDirectives(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want directives
	}{
		"plain text":             {text: "hello # there ## #"},
		"unknown word":           {text: "#hello #saying #say-so #say你 #repeat5"},
		"inside a word":          {text: "C#say x a#repeat 3 ##say y"},
		"behind Chinese":         {text: "请#say 好的", want: directives{say: "好的", hasSay: true}},
		"say takes the line":     {text: "a #say one #repeat 2\r\nb", want: directives{say: "one #repeat 2", hasSay: true}},
		"say keeps inner blanks": {text: "#say   x ", want: directives{say: "  x ", hasSay: true}},
		"say nothing":            {text: "#say", want: directives{hasSay: true}},
		"say two lines":          {text: "#say a\n#say\n#say b", want: directives{say: "a\n\nb", hasSay: true}},
		"reasoning":              {text: "#reasoning hm\n#reasoning so\nhi", want: directives{reasoning: "hm\nso"}},
		"repeat and chunks":      {text: "#repeat 3 #chunks 2.", want: directives{repeat: 3, chunks: 2}},
		"tools": {
			text: `please #tool a {"x": {"y": "}"}} and #tool b #toolloop c {"z":1}`,
			want: directives{tools: []toolDirective{
				{name: "a", arguments: `{"x": {"y": "}"}}`},
				{name: "b", arguments: `{}`},
				{name: "c", arguments: `{"z":1}`, loop: true},
			}},
		},
		"tool without a blank": {text: `#tool a{"x":1}`, want: directives{tools: []toolDirective{{name: "a", arguments: `{"x":1}`}}}},
		"raw tool":             {text: "#toolraw a {broken\nx", want: directives{tools: []toolDirective{{name: "a", arguments: "{broken"}}}},
		"fault": {
			text: "#fault 429 retry-after=7 count=2 hello",
			want: directives{faults: []Fault{{Kind: KindRateLimit, API: apiChat, RetryAfter: new(7), Count: 2}}},
		},
		"fault with a delay": {
			text: "#fault chunk-delay delay=3ms",
			want: directives{faults: []Fault{{Kind: KindChunkDelay, API: apiChat, Delay: Duration(3 * time.Millisecond)}}},
		},
		"usage": {
			text: "#usage prompt=100 cached=3 completion=0",
			want: directives{usage: &usageOverride{prompt: new(100), cached: new(3), completion: new(0)}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseDirectives(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(directives{}, toolDirective{}, usageOverride{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseDirectivesErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"#repeat":                       `directive #repeat: "" is not a whole number from 1 to 1000000`,
		"#repeat 0":                     `"0" is not a whole number`,
		"#repeat 1000001":               `"1000001" is not a whole number`,
		"#chunks x":                     `directive #chunks: "" is not a whole number from 1 to 100000`,
		"#tool":                         `the tool name "" is not allowed`,
		"#tool " + chars(65):            `is not allowed: 1 to 64`,
		`#tool a {"x":`:                 `directive #tool: the arguments of a are not a JSON object`,
		"#toolraw !":                    `directive #toolraw: the tool name "" is not allowed`,
		"#fault":                        `directive #fault: kind "" is not known: use chunk-delay, header-delay`,
		"#fault nope":                   `kind "nope" is not known`,
		"#fault reset chunks=x":         `chunks="x" is not a whole number`,
		"#fault reset pieces=1":         `setting "pieces" is not known`,
		"#fault reset chunks=-1":        `chunks is -1: allowed is 0 to 1000000`,
		"#fault reset delay=1s":         `delay is not allowed with kind reset`,
		"#fault chunk-delay delay=fast": `"fast" is not a duration`,
		"#fault chunk-delay delay=2h":   `delay is 2h0m0s: allowed is 0 to 1h0m0s`,
		"#fault status":                 `status is 0: kind status needs 400 to 599`,
		"#fault 429 status=500":         `status is not allowed with kind rate-limit`,
		"#fault 429 retry-after=90000":  `retryAfter is 90000: allowed is 0 to 86400`,
		"#usage prompt=-1":              `prompt="-1" is not a whole number of tokens`,
		"#usage total=1":                `setting "total" is not known`,
		repeated("#tool a ", 129):       `too many tool calls: at most 128`,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := parseDirectives(text)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		})
	}
}

func chars(n int) string                  { return repeated("a", n) }
func repeated(s string, n int) (r string) { return strings.Repeat(s, n) }

func TestParseModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		id, base string
		want     []Fault
		err      string
	}{
		"plain":       {id: "org/m:tag", base: "org/m:tag"},
		"one":         {id: "m@no-done", base: "m", want: []Fault{{Kind: KindNoDone, API: apiChat}}},
		"settings":    {id: "m@reset:chunks=0,count=2", base: "m", want: []Fault{{Kind: KindReset, API: apiChat, Chunks: new(0), Count: 2}}},
		"two":         {id: "m@500@503:", base: "m", want: []Fault{{Kind: KindServerError, API: apiChat}, {Kind: KindUnavailable, API: apiChat}}},
		"unknown":     {id: "m@x", err: `kind "x" is not known`},
		"bad setting": {id: "m@reset:chunks", err: `chunks="" is not a whole number`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, got, err := parseModel(tt.id)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || base != tt.base {
				t.Fatalf("got base %q and error %v, want %q", base, err, tt.base)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func FuzzParseDirectives(f *testing.F) {
	f.Add("#say hi\n#reasoning x #repeat 3")
	f.Add(`#tool a {"b":[1,"}"]} #toolloop c`)
	f.Add("#fault reset chunks=3 count=1 x=y")
	f.Add("#usage prompt=1 #chunks 9 #toolraw a {")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDirectives(text)
		if err != nil {
			return
		}
		again, err := parseDirectives(text)
		if err != nil || cmp.Diff(d, again, cmp.AllowUnexported(directives{}, toolDirective{}, usageOverride{})) != "" {
			t.Fatalf("the second parse differs (error %v)", err)
		}
		if d.repeat < 0 || d.repeat > maxRepeat || d.chunks > maxPieces || len(d.tools) > maxDirectiveTools {
			t.Fatalf("out of bounds: %+v", d)
		}
		for _, tool := range d.tools {
			if tool.name == "" || tool.loop && !json.Valid([]byte(tool.arguments)) {
				t.Fatalf("bad tool %+v", tool)
			}
		}
		for _, fault := range d.faults {
			if _, err := fault.normalise(); err != nil {
				t.Fatalf("fault %+v does not normalise again: %v", fault, err)
			}
		}
	})
}

func FuzzParseModel(f *testing.F) {
	f.Add("m@reset:chunks=3,count=1@429")
	f.Add("@@:,=")
	f.Fuzz(func(t *testing.T, id string) {
		base, _, err := parseModel(id)
		if err == nil && !strings.HasPrefix(id, base) {
			t.Fatalf("base %q is no prefix of %q", base, id)
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

const likeOpenAI = `{"id":"x","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}]}`

func TestTemplate(t *testing.T) {
	tests := []struct {
		name, form, first, second string
		fits                      bool
	}{
		{"plain", likeOpenAI, "a", "b c", true},
		{"blanks", `{"choices": [{"delta": {"content": "@"}}]}`, "a", "{}[],:", true},
		{"other scripts", likeOpenAI, "你", "好🦉", true},
		{"nothing", likeOpenAI, "a", "", true},
		{"an escape", likeOpenAI, "a", `\n`, false},
		{"learnt from an escape", likeOpenAI, `a\n`, "b", false},
		{"a quote", likeOpenAI, "a", `b"},"x":{"y":"`, false},
		{"not UTF-8", likeOpenAI, "a", "\xff", false},
		{"two keys of that name", `{"content":"x","choices":[{"delta":{"content":"@"}}]}`, "a", "b", false},
		{"a text like the key", `{"id":"\"content\":\"a","choices":[{"delta":{"content":"@"}}]}`, "a", "b", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := func(text string) []byte { return []byte(strings.Replace(tt.form, "@", text, 1)) }
			var first string
			if err := json.Unmarshal([]byte(`"`+tt.first+`"`), &first); err != nil {
				t.Fatal(err)
			}
			var tpl template
			tpl.learn(frame(tt.first), first)
			got, ok := tpl.content(frame(tt.second))
			if ok != tt.fits || ok && got != tt.second {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
	var tpl template
	tpl.learn([]byte(strings.Replace(likeOpenAI, "@", "a", 1)), "a")
	for _, other := range []string{"", "{}", `{"choices":[]}`, strings.Replace(likeOpenAI, "null", `"stop"`, 1), likeOpenAI[:40]} {
		if got, ok := tpl.content([]byte(other)); ok {
			t.Errorf("%s fits as %q", other, got)
		}
	}
}

// FuzzTemplate compares a stream read with the template to the same frames read one by one without.
func FuzzTemplate(f *testing.F) {
	f.Add(likeOpenAI, strings.Replace(likeOpenAI, "@", "b", 1))
	f.Add(`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"b"},"content":"c"}]}`)
	f.Add(`{"choices":[{"delta":{"content":"a","content":"b"}}]}`, `{"choices":[{"delta":{"content":"a","content":"bb"}}]}`)
	f.Add(`{"choices":[{"delta":{"Content":"a"}}],"x":"content"}`, `{"choices":[{"delta":{"Content":"a"}}],"x":"content"}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		read := func(forget bool) (out []llm.Chunk) {
			s := stream{onChunk: func(c llm.Chunk) error { out = append(out, c); return nil }}
			for _, data := range []string{first, second, first, second} {
				if forget {
					s.template = template{}
				}
				_ = s.piece([]byte(data))
			}
			return out
		}
		plain, fast := read(true), read(false)
		a, _ := json.Marshal(plain)
		b, _ := json.Marshal(fast)
		if string(a) != string(b) {
			t.Errorf("%q then %q reads as\n%s\nand with the template\n%s", first, second, a, b)
		}
	})
}

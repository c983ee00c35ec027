// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseTokens(t *testing.T) {
	tests := []struct {
		name, text, err string
		want            map[string]string // user by token
	}{
		{"one", "alice: 12345678", "", map[string]string{"12345678": "alice", "12345679": "", "": ""}},
		{
			"comments, line ends, several tokens", "\ufeff# x: 12345678\r\n\r\n  alice :  tok:with:colons  \r\nbob:#hash-token\nalice: second-token\r\n", "",
			map[string]string{"tok:with:colons": "alice", "#hash-token": "bob", "second-token": "alice"},
		},
		{"other scripts", "小明: 12345678", "", map[string]string{"12345678": "小明"}},
		{"nothing", "# only a comment\n", `must hold at least one line "userId: token"`, nil},
		{"no colon", "\nalice s3cr3t-token", `line 2: must be "userId: token"; there is no colon`, nil},
		{"no user", ": s3cr3t-token", "line 1: the user id before the colon is missing", nil},
		{"no token", "alice:", "line 1: the token after the colon is missing", nil},
		{"short token", "alice: s3cr3t", "line 1: the token may not be shorter than 8 characters", nil},
		{"long token", "alice: " + strings.Repeat("s3cr3t", 200), "line 1: the token may not be longer than 1024 characters", nil},
		{"blank in the token", "alice: s3cr3t token", "line 1: the token may hold only visible ASCII", nil},
		{"other script in the token", "alice: s3cr3t密码密码", "line 1: the token may hold only visible ASCII", nil},
		{"blank in the user", "al ice: s3cr3t-token", "line 1: the user id may hold no blanks", nil},
		{"long user", strings.Repeat("明", 129) + ": s3cr3t-token", "line 1: the user id may not be longer than 128 characters", nil},
		{"same token twice", "alice: s3cr3t-token\n#\nbob: s3cr3t-token", "line 3: the token is the same as in line 1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := parseTokens(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("error is %v, want %q and no token", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for token, user := range tt.want {
				if got, ok := u.lookup(token); got != user || ok != (user != "") {
					t.Errorf("token %q is %q's, %v", token, got, ok)
				}
			}
		})
	}
	var many strings.Builder
	for i := range maxTokens + 1 {
		fmt.Fprintf(&many, "u%d: token-%08d\n", i, i)
	}
	if _, err := parseTokens(many.String()); err == nil || !strings.Contains(err.Error(), "line 4097: there may be at most 4096 tokens") {
		t.Errorf("error is %v", err)
	}
}

func FuzzParseTokens(f *testing.F) {
	for _, seed := range []string{testTokens, "", "a:b", "\ufeffa: 12345678\r\nb: 12345678", "x\xff: 12345678", "a: 1234567\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseTokens(text)
		if err != nil {
			for word := range strings.FieldsSeq(text) {
				if len(word) >= minTokenLength && strings.ContainsAny(word, "0123456789") && strings.Contains(err.Error(), word) {
					t.Errorf("%q: error %q shows %q", text, err, word)
				}
			}
			return
		}
		if len(u.ids) == 0 || len(u.ids) != len(u.hashes) || len(u.ids) > maxTokens {
			t.Errorf("%q: %d users, %d hashes", text, len(u.ids), len(u.hashes))
		}
		for _, id := range u.ids {
			if checkUserID(id) != nil || strings.Contains(id, ":") {
				t.Errorf("%q: user %q", text, id)
			}
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{}`, ask("x", streamed), `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,x"}}]}]}`,
		`{"messages":[{"role":"user","content":[{}]}],"n":1,"user":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, bad := decodeRequest(body)
		if bad == nil {
			var text string
			text, _, bad = req.lastUser()
			if bad == nil && !utf8.ValidString(text) {
				t.Errorf("%q gives %q", body, text)
			}
		}
		if bad != nil && (bad.status < 400 || bad.message == "" || !json.Valid(bad.body())) {
			t.Errorf("%q gives %+v", body, bad)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "q\"\\\n\r\t\x00\x1f\x7f", "猫🦉", "\xff\xc3\x28", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := appendString([]byte("x"), s)
		var got string
		if err := json.Unmarshal(raw[1:], &got); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		wanted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(wanted, &want); err != nil {
			t.Fatal(err)
		}
		if got != want || strings.ContainsAny(string(raw), "\n\r") {
			t.Errorf("%q is written as %q", s, raw)
		}
	})
}

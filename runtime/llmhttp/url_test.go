// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"net/url"
	"testing"
)

func TestWithVersion(t *testing.T) {
	tests := map[string]string{
		"https://api.openai.com":                 "https://api.openai.com/v1",
		"https://api.openai.com/":                "https://api.openai.com/v1",
		"http://llm:8000/v1":                     "http://llm:8000/v1",
		"http://llm:8000/v1/":                    "http://llm:8000/v1",
		"https://gw.example/openai":              "https://gw.example/openai/v1",
		"https://gw.example/openai/v1//":         "https://gw.example/openai/v1",
		"https://open.example/api/paas/v4":       "https://open.example/api/paas/v4",
		"https://gl.example/v1beta/openai/":      "https://gl.example/v1beta/openai",
		"https://gw.example/vendor":              "https://gw.example/vendor/v1",
		"https://gw.example/a%2Fb":               "https://gw.example/a/b/v1",
		"https://gw.example/version-1/v2024test": "https://gw.example/version-1/v2024test",
	}
	for in, want := range tests {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := WithVersion(u).String(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestWithoutVersion(t *testing.T) {
	for in, want := range map[string]string{
		"https://x.example": "https://x.example", "https://x.example/v1/": "https://x.example", "https://x.example/a/v1": "https://x.example/a",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := WithoutVersion(u).String(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/chat"
	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

func serve(t *testing.T) (chat.Client, *[]string) {
	t.Helper()
	var sessions []string
	model := fakellm.New(fakellm.Options{APIKeys: []string{"token"}, Models: []string{"hello"}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sessions = append(sessions, r.Header.Get("X-Aalis-Session"))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return chat.Client{BaseURL: server.URL, Token: "token", Session: "evening", Model: "hello"}, &sessions
}

func TestAsk(t *testing.T) {
	c, sessions := serve(t)
	var out strings.Builder
	if err := c.Ask(t.Context(), "good evening", &out); err != nil {
		t.Fatal(err)
	}
	if want := "You said: good evening\n"; out.String() != want {
		t.Errorf("want %q, got %q", want, out.String())
	}
	if len(*sessions) != 1 || (*sessions)[0] != "evening" {
		t.Errorf("the session must be told, got %q", *sessions)
	}
}

func TestAskFails(t *testing.T) {
	tests := map[string]struct {
		change func(*chat.Client)
		text   string
		want   string
	}{
		"wrong token":   {func(c *chat.Client) { c.Token = "wrong" }, "x", "does not know this token"},
		"server error":  {func(*chat.Client) {}, "#fault 500", "the bot answered 500"},
		"nobody there":  {func(c *chat.Client) { c.BaseURL = "http://127.0.0.1:1" }, "x", "talking to the bot"},
		"broken stream": {func(*chat.Client) {}, "#fault reset chunks=1", "talking to the bot"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := serve(t)
			tc.change(&c)
			var out strings.Builder
			if err := c.Ask(t.Context(), tc.text, &out); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestConverse(t *testing.T) {
	c, _ := serve(t)
	var out strings.Builder
	if err := c.Converse(t.Context(), "hello", strings.NewReader("one\n\n two \n"), &out); err != nil {
		t.Fatal(err)
	}
	want := "> hello: You said: one\n> > hello: You said: two\n> \n"
	if out.String() != want {
		t.Errorf("want %q, got %q", want, out.String())
	}
}

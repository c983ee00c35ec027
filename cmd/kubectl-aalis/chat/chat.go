// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is a conversation with a bot over its OpenAI-compatible endpoint: it sends what a person types and
// prints the answer as it is written.
package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// sessionHeader chooses one of the person's sessions.
const sessionHeader = "X-Aalis-Session"

// maxLine bounds one typed message, in bytes.
const maxLine = 1 << 20

// Client talks to one bot as one person.
type Client struct {
	// BaseURL of the endpoint, without /v1.
	BaseURL string
	// Token of the person.
	Token string
	// Session of the person; each has its own memory.
	Session string
	// Model named in the requests: the bot's name.
	Model string
}

// Ask sends one message and writes the answer to out as it comes, with a line break at its end.
func (c Client) Ask(ctx context.Context, text string, out io.Writer) error {
	stream, err := c.client().CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model:    c.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}},
		Stream:   true,
	})
	if err != nil {
		return describe(err)
	}
	defer func() { _ = stream.Close() }()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			_, err := fmt.Fprintln(out)
			return err
		}
		if err != nil {
			return describe(err)
		}
		for _, choice := range chunk.Choices {
			if _, err := io.WriteString(out, choice.Delta.Content); err != nil {
				return err
			}
		}
	}
}

// Converse reads one message a line from in until it ends and writes each answer to out.
func (c Client) Converse(ctx context.Context, botName string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64*1024), maxLine)
	for {
		if _, err := fmt.Fprint(out, "> "); err != nil {
			return err
		}
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "%s: ", botName); err != nil {
			return err
		}
		if err := c.Ask(ctx, text, out); err != nil {
			return err
		}
	}
}

func (c Client) client() *openai.Client {
	config := openai.DefaultConfig(c.Token)
	config.BaseURL = c.BaseURL + "/v1"
	config.HTTPClient = &http.Client{Transport: sessionTransport{session: c.Session, next: http.DefaultTransport}}
	return openai.NewClientWithConfig(config)
}

// sessionTransport adds the session to each request.
type sessionTransport struct {
	session string
	next    http.RoundTripper
}

func (t sessionTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(sessionHeader, t.session)
	return t.next.RoundTrip(r)
}

// describe turns the client library's error into what a person needs to know.
func describe(err error) error {
	var api *openai.APIError
	switch {
	case errors.As(err, &api) && api.HTTPStatusCode == http.StatusUnauthorized:
		return errors.New("the bot does not know this token; it may have been changed a moment ago")
	case errors.As(err, &api):
		return fmt.Errorf("the bot answered %d: %s", api.HTTPStatusCode, api.Message)
	default:
		return fmt.Errorf("talking to the bot: %w", err)
	}
}

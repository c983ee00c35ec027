// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

const (
	sessionHeader  = "X-Aalis-Session"
	defaultSession = "default"
	maxSession     = 128 // UTF-16 code units
)

// chatRequest is what is read of a request. Everything else in it is ignored.
type chatRequest struct {
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User string `json:"user"`
	N    *int   `json:"n"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL json.RawMessage `json:"image_url"`
}

func (r *chatRequest) includeUsage() bool {
	return r.StreamOptions != nil && r.StreamOptions.IncludeUsage
}

// decodeRequest reads a body.
func decodeRequest(body []byte) (*chatRequest, *apiError) {
	var req chatRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&req); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
			return nil, badRequest(t.Field, "invalid_type", "%s must be %s, got %s", t.Field, jsonType(t), t.Value)
		}
		return nil, badRequest("", "invalid_json", "the body must be one JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("", "invalid_json", "the body must be one JSON object, there is more after it")
	}
	if req.N != nil && *req.N != 1 {
		return nil, badRequest("n", "unsupported_value", "n must be 1, got %d", *req.N)
	}
	return &req, nil
}

func jsonType(t *json.UnmarshalTypeError) string {
	switch t.Type.Kind().String() {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "string":
		return "a string"
	case "slice":
		return "a list"
	default:
		return "an object"
	}
}

// lastUser finds the message that counts: its text and its images.
func (r *chatRequest) lastUser() (text string, images []message.Attachment, bad *apiError) {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != string(message.RoleUser) {
			continue
		}
		path := fmt.Sprintf("messages[%d].content", i)
		text, images, bad = readContent(path, m.Content)
		if bad == nil && strings.TrimSpace(text) == "" && len(images) == 0 {
			bad = badRequest(path, "empty_message", "%s must not be empty", path)
		}
		return text, images, bad
	}
	return "", nil, badRequest("messages", "no_user_message", `messages must hold a message of the role "user"`)
}

func readContent(path string, raw json.RawMessage) (string, []message.Attachment, *apiError) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", nil, nil
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", nil, badRequest(path, "invalid_json", "%s must be a string or a list of parts", path)
		}
		return s, nil, nil
	case raw[0] != '[':
		return "", nil, badRequest(path, "invalid_type", "%s must be a string or a list of parts", path)
	}
	var parts []contentPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", nil, badRequest(path, "invalid_type", "%s must be a list of parts, each an object with a type", path)
	}
	return readParts(path, parts)
}

func readParts(path string, parts []contentPart) (string, []message.Attachment, *apiError) {
	var texts []string
	var images []message.Attachment
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image_url":
			image, bad := readImage(at+".image_url", p.ImageURL)
			if bad != nil {
				return "", nil, bad
			}
			images = append(images, image)
		default:
			return "", nil, badRequest(at+".type", "unsupported_value", "%s.type must be text or image_url, got %q", at, p.Type)
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// readImage takes data URLs of images and addresses on the web. Other schemes, file above all, would have the bot read
// what the client cannot.
func readImage(path string, raw json.RawMessage) (message.Attachment, *apiError) {
	var image struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(raw, &image); err != nil {
		return message.Attachment{}, badRequest(path, "invalid_type", "%s must be an object with a url", path)
	}
	out := message.Attachment{Kind: "image", Data: image.URL}
	if rest, ok := strings.CutPrefix(image.URL, "data:"); ok {
		head, _, comma := strings.Cut(rest, ",")
		kind, _, err := mime.ParseMediaType(strings.TrimSuffix(head, ";base64"))
		if !comma || err != nil || !strings.HasPrefix(kind, "image/") {
			return out, badRequest(path+".url", "invalid_image", "%s.url must be the data URL of an image", path)
		}
		out.MimeType = kind
		return out, nil
	}
	u, err := url.Parse(image.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return out, badRequest(path+".url", "invalid_image", "%s.url must be an http, https or data URL", path)
	}
	return out, nil
}

// sessionOf is the session that a request chooses among those of its user.
func sessionOf(h http.Header, req *chatRequest) (string, *apiError) {
	param, name := sessionHeader, strings.TrimSpace(h.Get(sessionHeader))
	if name == "" {
		param, name = "user", strings.TrimSpace(req.User)
	}
	switch {
	case name == "":
		return defaultSession, nil
	case schema.Length(name) > maxSession:
		return "", badRequest(param, "invalid_session", "%s may not be longer than %d characters", param, maxSession)
	case !printable(name):
		return "", badRequest(param, "invalid_session", "%s may hold no control characters", param)
	default:
		return name, nil
	}
}

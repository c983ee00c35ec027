// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// hasAudio tells a conversation that the server's own API does not take.
func hasAudio(messages []message.Message) bool {
	return slices.ContainsFunc(messages, func(m message.Message) bool { return len(m.Audios) > 0 })
}

// audioRequest is a request of the OpenAI-compatible API.
type audioRequest struct {
	Model           string         `json:"model"`
	Messages        []audioMessage `json:"messages"`
	Stream          bool           `json:"stream"`
	Temperature     float64        `json:"temperature"`
	MaxTokens       int            `json:"max_tokens"`
	ReasoningEffort string         `json:"reasoning_effort,omitempty"`
}

type audioMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text or parts
}

type part struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *imagePart `json:"image_url,omitempty"`
	Audio *audioPart `json:"input_audio,omitempty"`
}

type imagePart struct {
	URL string `json:"url"`
}

type audioPart struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

// chatAudio makes one attempt at a whole reply to a conversation with sounds.
func (b *backend) chatAudio(ctx context.Context, c llmhttp.Call, req llm.Request) (llm.Response, error) {
	set := b.Current()
	body := audioRequest{Model: c.Model, Temperature: set.TemperatureOf(req), MaxTokens: set.MaxTokensOf(req)}
	if !b.think(c.Model, req.Think, set) {
		body.ReasoningEffort = "none"
	}
	prepared := llm.Prepare(req.Messages)
	images, err := b.loadImages(ctx, c, prepared, req.RequireImages)
	if err != nil {
		return llm.Response{}, err
	}
	sounds, err := b.loadAll(ctx, c, prepared, false, func(m *message.Message) []string { return m.Audios })
	if err != nil {
		return llm.Response{}, err
	}
	for i := range prepared {
		if m, ok := audioContent(&prepared[i], images[i], sounds[i]); ok {
			body.Messages = append(body.Messages, m)
		}
	}
	out, err := completions.Chat(ctx, c, pathCompletions, body)
	if err != nil {
		return out, err
	}
	content, reasoning := splitThinking(out.Content)
	out.Content, out.ReasoningContent = content, out.ReasoningContent+reasoning
	return out, nil
}

// audioContent puts a message into parts, the text last. Calls of tools and their results are left out: there are no tools.
func audioContent(m *message.Message, images, sounds []medium) (audioMessage, bool) {
	out := audioMessage{Role: string(m.Role), Content: m.Content}
	if m.Role == message.RoleTool || m.Content == "" && len(images)+len(sounds) == 0 {
		return out, false
	}
	if len(images)+len(sounds) == 0 {
		return out, true
	}
	var parts []part
	for _, image := range images {
		kind := image.mime
		if kind == "" {
			kind = "image/png"
		}
		parts = append(parts, part{Type: "image_url", Image: &imagePart{URL: "data:" + kind + ";base64," + image.base64}})
	}
	for _, sound := range sounds {
		parts = append(parts, part{Type: "input_audio", Audio: &audioPart{Data: sound.base64, Format: format(sound)}})
	}
	if m.Content != "" {
		parts = append(parts, part{Type: "text", Text: m.Content})
	}
	out.Content = parts
	return out, true
}

// format names the form of a sound: as its type says, else as its first bytes do.
func format(sound medium) string {
	kind, ok := strings.CutPrefix(sound.mime, "audio/")
	switch {
	case ok && kind == "mpeg":
		return "mp3"
	case ok:
		return strings.TrimPrefix(kind, "x-")
	}
	head := sound.base64[:min(len(sound.base64), 8)]
	raw, _ := base64.StdEncoding.DecodeString(head)
	switch {
	case strings.HasPrefix(string(raw), "ID3"), len(raw) > 1 && raw[0] == 0xFF && raw[1]&0xE0 == 0xE0:
		return "mp3"
	case strings.HasPrefix(string(raw), "OggS"):
		return "ogg"
	default:
		return "wav"
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// maxMedia bounds how many pictures and sounds a request may hold each.
const maxMedia = 64

// medium is a picture or a sound that is ready to be sent.
type medium struct {
	base64 string
	mime   string // may be empty
}

// loadImages gets the pictures of the user's messages, by the index of the message. One that cannot be read is left out; if
// that is all of them and they are required, the request cannot be made.
func (b *backend) loadImages(ctx context.Context, c llmhttp.Call, messages []message.Message, required bool) (map[int][]medium, error) {
	return b.loadAll(ctx, c, messages, required, func(m *message.Message) []string { return m.Images })
}

func (b *backend) loadAll(
	ctx context.Context, c llmhttp.Call, messages []message.Message, required bool, of func(*message.Message) []string,
) (map[int][]medium, error) {
	out := map[int][]medium{}
	wanted, got := 0, 0
	for i := range messages {
		if messages[i].Role != message.RoleUser {
			continue
		}
		for _, source := range of(&messages[i]) {
			if wanted++; wanted > maxMedia {
				break
			}
			m, err := b.load(ctx, source)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("fetching media: %w", context.Cause(ctx))
			}
			if err != nil {
				c.Log.Warn("Picture or sound was left out", "error", err)
				continue
			}
			out[i] = append(out[i], m)
			got++
		}
	}
	if required && wanted > 0 && got == 0 {
		return nil, llmhttp.ErrImages
	}
	return out, nil
}

// load gets a picture or sound from a data URL, an http URL or base64. Errors do not show the source.
func (b *backend) load(ctx context.Context, source string) (medium, error) {
	source = strings.TrimSpace(source)
	scheme, rest, hasScheme := strings.Cut(source, ":")
	switch scheme = strings.ToLower(scheme); {
	case hasScheme && (scheme == "http" || scheme == "https"):
		return b.media.get(ctx, source)
	case hasScheme && scheme == "data":
		return fromDataURL(rest)
	case hasScheme && scheme == "file":
		return medium{}, errors.New("files cannot be read")
	}
	return fromBase64(source, "")
}

// fromDataURL reads what follows data: in a data URL.
func fromDataURL(rest string) (medium, error) {
	head, data, ok := strings.Cut(rest, ",")
	mime, encoded := strings.CutSuffix(head, ";base64")
	if !ok || !encoded {
		return medium{}, errors.New("a data URL must hold base64")
	}
	mime, _, _ = strings.Cut(mime, ";")
	return fromBase64(data, mime)
}

func fromBase64(text, mime string) (medium, error) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if base64.StdEncoding.DecodedLen(len(text)) > maxDownload {
		return medium{}, errTooLarge
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return medium{}, errors.New("the data is no base64")
	}
	return medium{base64: text, mime: mime}, nil
}

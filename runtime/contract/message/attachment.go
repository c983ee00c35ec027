// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strings"
)

// AttachmentKind is what an Attachment holds.
type AttachmentKind = string

// The kinds of attachments.
const (
	AttachmentImage AttachmentKind = "image"
	AttachmentAudio AttachmentKind = "audio"
	AttachmentVideo AttachmentKind = "video"
	AttachmentFile  AttachmentKind = "file"
)

// Attachment is an image, sound, video or file that came with a message.
type Attachment struct {
	Kind     AttachmentKind `json:"kind"`
	Data     string         `json:"data"` // a data URL, an http URL or a file URI
	MimeType string         `json:"mimeType,omitempty"`
	Name     string         `json:"name,omitempty"`
	// SourceID is the platform's own name of the resource.
	SourceID    string  `json:"sourceId,omitempty"`
	ByteSize    int64   `json:"byteSize,omitempty"`
	DurationSec float64 `json:"durationSec,omitempty"`
	// Description says in words what is in it.
	Description string `json:"description,omitempty"`
	// Ref is where it is kept, for tools that read it again.
	Ref string `json:"ref,omitempty"`
	// SkipArchive keeps it out of the archive.
	SkipArchive bool `json:"skipArchive,omitempty"`
}

// Placeholder stands in a text for an attachment.
type Placeholder struct {
	Kind        AttachmentKind
	Description string // blank means that there is none
	Ref         string
}

// kindLabels name the kinds in placeholders. They stand in stored history: exact.
var kindLabels = [...]struct{ kind, label string }{
	{AttachmentImage, "图片"}, {AttachmentAudio, "音频"}, {AttachmentVideo, "视频"}, {AttachmentFile, "文件"},
}

// placeholders finds all that String writes. A label without a reference is plain text.
var placeholders = regexp.MustCompile(`\[(图片|音频|视频|文件)(?:: ([^\]|\n]*))? \| ref:([^\]\n]+)\]`)

// String writes the placeholder: [label: description | ref:reference], or [label | ref:reference]. What the grammar
// cannot hold becomes a blank. A placeholder of an unknown kind is written as a file.
func (p Placeholder) String() string {
	var b strings.Builder
	b.WriteString("[" + labelOf(p.Kind))
	if d := strings.TrimSpace(plain(p.Description, "]|\n\r")); d != "" {
		b.WriteString(": " + d)
	}
	b.WriteString(" | ref:" + strings.TrimSpace(plain(p.Ref, "]\n\r")) + "]")
	return b.String()
}

// Placeholders finds the placeholders of a text, in order.
func Placeholders(text string) []Placeholder {
	var out []Placeholder
	for _, m := range placeholders.FindAllStringSubmatch(text, -1) {
		out = append(out, Placeholder{Kind: kindOf(m[1]), Description: strings.TrimSpace(m[2]), Ref: m[3]})
	}
	return out
}

// ReplacePlaceholder puts a text in the place of each placeholder of a kind and reference, with or without a description.
func ReplacePlaceholder(text string, kind AttachmentKind, ref string, with Placeholder) string {
	return placeholders.ReplaceAllStringFunc(text, func(s string) string {
		m := placeholders.FindStringSubmatch(s)
		if m[1] != labelOf(kind) || m[3] != ref {
			return s
		}
		return with.String()
	})
}

func labelOf(kind AttachmentKind) string {
	for _, k := range kindLabels {
		if k.kind == kind {
			return k.label
		}
	}
	return "文件"
}

func kindOf(label string) AttachmentKind {
	for _, k := range kindLabels {
		if k.label == label {
			return k.kind
		}
	}
	return AttachmentFile
}

// plain turns the given characters into blanks.
func plain(s, chars string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) {
			return ' '
		}
		return r
	}, s)
}

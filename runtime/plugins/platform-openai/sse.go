// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// fullBuffer is the size, in bytes, from which frames are sent although more are coming.
const fullBuffer = 16 << 10

// sse answers with server-sent events. Headers go out with the first of them, so that what fails before is answered with
// a status. What is the same in all frames is encoded once; a frame only appends its text.
type sse struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	head []byte // up to the delta
	tail []byte // behind the delta of an ordinary frame
	end  []byte // behind the finish reason
	open int    // length of head before its choices
	buf  []byte // frames not yet sent

	sent   bool // headers
	quiet  bool // nothing was written since the last beat
	role   bool // the first frame is in
	spoke  bool // there was text
	usage  bool // the client wants it
	first  bool // the bot's own machinery spoke first
	notice bool // it spoke
	broken bool // a tool call came between two pieces of text
	round  strings.Builder
	info   *message.ModelInfo
}

func newSSE(w http.ResponseWriter, m meta, includeUsage bool) *sse {
	s := &sse{w: w, rc: http.NewResponseController(w), usage: includeUsage, quiet: true}
	b := append([]byte(nil), `data: {"id":`...)
	b = appendString(b, m.id)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = strconv.AppendInt(b, m.created, 10)
	b = append(b, `,"model":`...)
	b = appendString(b, m.model)
	b = append(b, `,"choices":[`...)
	s.open = len(b)
	b = append(b, `{"index":0,"delta":`...)
	s.head = b
	s.end = []byte("}]}\n\n")
	if includeUsage {
		s.end = []byte("}],\"usage\":null}\n\n")
	}
	s.tail = append([]byte(`,"finish_reason":null`), s.end...)
	return s
}

func (s *sse) take(e event) {
	switch e.kind {
	case evTool:
		s.broken = s.round.Len() > 0
	case evDelta:
		if e.reasoning != "" {
			s.text("reasoning_content", e.reasoning)
		}
		if e.content != "" {
			s.delta(e.content)
		}
	case evSaid:
		s.said(e.said)
	case evEnded:
	}
}

// delta adds a piece of the model's text. Text after a tool call is a paragraph of its own.
func (s *sse) delta(content string) {
	if s.broken {
		s.broken = false
		s.round.Reset()
		s.text("content", separator)
	}
	s.round.WriteString(content)
	s.spoke = true
	s.text("content", content)
}

// said adds what is to be shown as far as it has not been streamed.
func (s *sse) said(m *message.Outgoing) {
	if m.ModelInfo != nil {
		s.info = m.ModelInfo
	}
	if m.Content == "" {
		return
	}
	if m.Source == message.FromSystem || m.Source == message.FromCommand {
		if m.Source == message.FromSystem && !m.Interim {
			s.notice, s.first = true, s.first || !s.spoke
		}
		s.paragraph(m.Content)
		return
	}
	switch shown := s.round.String(); {
	case shown == "":
		if m.ReasoningContent != "" && !s.spoke {
			s.text("reasoning_content", m.ReasoningContent)
		}
		s.paragraph(m.Content)
	case strings.HasPrefix(m.Content, shown):
		if rest := m.Content[len(shown):]; rest != "" {
			s.text("content", rest)
		}
	}
	s.round.Reset()
}

func (s *sse) paragraph(content string) {
	if s.spoke {
		s.text("content", separator)
	}
	s.spoke = true
	s.text("content", content)
}

// text adds a frame whose delta is {field: content}. The field must need no escapes.
func (s *sse) text(field, content string) {
	s.begin()
	s.buf = append(s.buf, s.head...)
	s.buf = append(s.buf, `{"`...)
	s.buf = append(s.buf, field...)
	s.buf = append(s.buf, `":`...)
	s.buf = appendString(s.buf, content)
	s.buf = append(s.buf, '}')
	s.buf = append(s.buf, s.tail...)
}

// begin adds the frame that says who speaks.
func (s *sse) begin() {
	if s.role {
		return
	}
	s.role = true
	s.buf = append(s.buf, s.head...)
	s.buf = append(s.buf, `{"role":"assistant","content":""}`...)
	s.buf = append(s.buf, s.tail...)
}

func (s *sse) full() bool     { return len(s.buf) >= fullBuffer }
func (s *sse) answered() bool { return s.spoke }
func (s *sse) noticed() bool  { return s.notice }

func (s *sse) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	if !s.sent {
		s.headers()
	}
	s.quiet = false
	_ = s.rc.SetWriteDeadline(netx.Deadline(writeTimeout)) // unsupported writers have limits of their own
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func (s *sse) headers() {
	s.sent = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	if s.first {
		h.Set(noticeHeader, noticeSystem)
	}
	s.w.WriteHeader(http.StatusOK)
}

// beat sends a comment, which clients ignore, if nothing was sent since the last beat.
func (s *sse) beat() error {
	if s.quiet {
		s.buf = append(s.buf, ": keep-alive\n\n"...)
	}
	err := s.flush()
	s.quiet = true
	return err
}

func (s *sse) finish() {
	s.begin()
	s.buf = append(s.buf, s.head...)
	s.buf = append(s.buf, `{},"finish_reason":"stop"`...)
	s.buf = append(s.buf, s.end...)
	if s.usage {
		u := usageOf(s.info)
		s.buf = append(s.buf, s.head[:s.open]...)
		s.buf = append(s.buf, `],"usage":{"prompt_tokens":`...)
		s.buf = strconv.AppendInt(s.buf, int64(u.PromptTokens), 10)
		s.buf = append(s.buf, `,"completion_tokens":`...)
		s.buf = strconv.AppendInt(s.buf, int64(u.CompletionTokens), 10)
		s.buf = append(s.buf, `,"total_tokens":`...)
		s.buf = strconv.AppendInt(s.buf, int64(u.TotalTokens), 10)
		s.buf = append(s.buf, "}}\n\n"...)
	}
	s.buf = append(s.buf, "data: [DONE]\n\n"...)
	s.close()
}

func (s *sse) fail(e *apiError) {
	if !s.sent {
		e.write(s.w)
		return
	}
	s.buf = append(s.buf, "data: "...)
	s.buf = append(s.buf, e.body()...)
	s.buf = append(s.buf, "\n\n"...)
	s.close()
}

// close sends the rest. The deadline must not outlive the answer: the connection may serve another.
func (s *sse) close() {
	_ = s.flush() // a client that has gone cannot be told
	_ = s.rc.SetWriteDeadline(time.Time{})
}

var _ responder = (*sse)(nil)

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// responder writes the answer to one request.
type responder interface {
	// take adds what happened in the turn; it may keep it until flush.
	take(e event)
	// full tells that flush should not wait for more.
	full() bool
	// flush sends what take has kept.
	flush() error
	// beat keeps the connection alive while nothing happens.
	beat() error
	// answered tells whether anything was said, noticed whether the bot said something for itself.
	answered() bool
	noticed() bool
	// finish ends a complete answer, fail a failed one.
	finish()
	fail(e *apiError)
}

// chat answers POST /v1/chat/completions.
func (s *server) chat(w http.ResponseWriter, r *http.Request, userID string) {
	set := s.set.Load()
	if !s.chats.TryEnter(set.maxConcurrent) {
		(&apiError{
			status: http.StatusTooManyRequests, kind: kindLimit, code: "too_many_requests", retryAfter: 1,
			message: fmt.Sprintf("the bot answers %d requests already, the most it takes: try again in a moment", set.maxConcurrent),
		}).write(w)
		return
	}
	defer s.chats.Leave()
	req, in, bad := s.read(w, r, userID, set.maxBody)
	if bad != nil {
		bad.write(w)
		return
	}
	t := s.turns.open(in.TurnID, in.SessionID, req.Stream)
	defer s.turns.close(t)
	m := meta{id: in.TurnID, model: s.k.AppName(), created: s.k.Now().Unix()}
	var out responder = &whole{w: w, meta: m}
	if req.Stream {
		out = newSSE(w, m, req.includeUsage())
	}
	// Listeners may be slow, and the first events must be read while they are.
	parent := r.Header.Get("traceparent")
	s.k.Go("message", func(ctx context.Context) { message.Inbound.Emit(tracing.WithParent(ctx, parent), s.k, in) })
	s.converse(r.Context(), t, out, set.timeout)
}

// meta is what every part of an answer repeats.
type meta struct {
	id, model string
	created   int64
}

// read turns a request into a message of its user.
func (s *server) read(w http.ResponseWriter, r *http.Request, userID string, most int64) (
	*chatRequest, message.Incoming, *apiError,
) {
	var in message.Incoming
	body, bad := readBody(w, r, most)
	if bad != nil {
		return nil, in, bad
	}
	req, bad := decodeRequest(body)
	if bad != nil {
		return nil, in, bad
	}
	text, images, bad := req.lastUser()
	if bad != nil {
		return nil, in, bad
	}
	session, bad := sessionOf(r.Header, req)
	if bad != nil {
		return nil, in, bad
	}
	id := "chatcmpl-" + rand.Text()
	return req, message.Incoming{
		Content: text, Attachments: images, Platform: Platform, UserID: userID,
		SessionID: Platform + ":" + userID + ":" + session, SessionType: message.SessionPrivate,
		MessageID: id, TurnID: id, TriggerType: message.TriggerDirect,
	}, nil
}

func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *apiError) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(netx.Deadline(bodyTimeout)) // unsupported writers have limits of their own
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = rc.SetReadDeadline(time.Time{})
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, kind: kindInvalid, code: "request_too_large",
			message: fmt.Sprintf("the body may not be longer than %d bytes", tooLong.Limit),
		}
	}
	if err != nil {
		return nil, badRequest("", "body_unreadable", "the body could not be read to its end")
	}
	return body, nil
}

// converse follows a turn to its end. A request whose client has gone, or that takes too long, ends its turn.
func (s *server) converse(ctx context.Context, t *turn, out responder, timeout time.Duration) {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	grace := time.NewTimer(timeout)
	grace.Stop()
	for {
		var err error
		select {
		case e := <-t.events:
			grace.Stop()
			if e.kind == evEnded {
				conclude(out, e.outcome)
				return
			}
			if out.take(e); isNotice(e) {
				grace.Reset(s.grace)
			}
			if len(t.events) == 0 || out.full() {
				err = out.flush()
			}
		case <-beat.C:
			err = out.beat()
		case <-grace.C:
			out.finish()
			return
		case <-limit.C:
			s.abort(t)
			out.fail(errTimeout)
			return
		case <-ctx.Done():
			if s.k.Disposed() {
				out.fail(errStopping)
				return
			}
			err = ctx.Err()
		}
		if err != nil { // nobody reads the answer
			s.abort(t)
			return
		}
	}
}

// isNotice tells whether the bot says something for itself that may be all that comes.
func isNotice(e event) bool {
	return e.kind == evSaid && e.said.Source == message.FromSystem && !e.said.Interim
}

// conclude ends the answer of a turn that has ended.
func conclude(out responder, outcome agent.Outcome) {
	switch {
	case outcome == agent.Aborted && !out.noticed(): // by a stop, the agent says so itself
		out.fail(errReplaced)
	case outcome == agent.Failed && !out.answered():
		out.fail(errFailed)
	default:
		out.finish()
	}
}

// abort ends a turn that still runs.
func (s *server) abort(t *turn) {
	if a, ok := agent.Service.Get(s.k); ok {
		s.k.Logger().Debug("Aborted a turn that nobody waits for", "sessionId", t.session)
		a.AbortTurn(t.id)
	}
}

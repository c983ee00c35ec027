// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// errStopped ends an answer that a fault cut; the request is settled already.
var errStopped = errors.New("answer cut by a fault")

// exchange is one request to a model endpoint and its answer. One handler goroutine owns it; only entry is shared, under
// the ledger's lock.
type exchange struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context
	rc      *http.ResponseController
	entry   *Entry
	id      uint64
	keyHash string
	start   time.Time
	armed   time.Time // when the write deadline was last set

	accepted bool
	hijacked bool
	eff      effects
	bill     Usage // the prompt's part; the answer's comes from out
	override *usageOverride
	out      output // sent so far
	sent     int    // chunks sent so far
}

// begin opens the ledger entry of a request.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, api string) *exchange {
	now := s.opts.Now()
	x := &exchange{
		s: s, w: w, r: r, ctx: r.Context(), rc: http.NewResponseController(w), start: now, keyHash: HashKey(bearer(r)),
		eff: effects{chunkDelay: s.opts.ChunkDelay},
	}
	x.entry = &Entry{Time: now, API: api, Path: r.URL.Path, KeyHash: x.keyHash, Outcome: OutcomeRunning}
	s.ledger.add(x.entry)
	x.id = x.entry.ID
	w.Header().Set("X-Request-Id", "req_"+strconv.FormatUint(x.id, 10))
	return x
}

// end settles a request that nothing else settled, and logs it.
func (x *exchange) end() {
	x.settle(OutcomeCanceled)
	if !x.hijacked {
		// The connection may carry another request, which must not inherit the deadline.
		_ = x.rc.SetWriteDeadline(time.Time{})
	}
	took := x.s.opts.Now().Sub(x.start)
	var e Entry
	x.s.ledger.update(x.entry, func(shared *Entry) {
		shared.DurationMS = took.Milliseconds()
		e = *shared
	})
	log := x.s.opts.Logger
	if !log.Enabled(x.ctx, slog.LevelInfo) {
		return
	}
	log.LogAttrs(x.ctx, slog.LevelInfo, "Served request", slog.Uint64("id", e.ID), slog.String("method", x.r.Method),
		slog.String("path", e.Path), slog.Int("status", e.Status), slog.String("outcome", string(e.Outcome)),
		slog.String("model", e.Model), slog.String("keyHash", e.KeyHash), slog.Bool("stream", e.Stream),
		slog.Int("chunks", e.Chunks), slog.Int("promptTokens", e.Billed.PromptTokens),
		slog.Int("cachedTokens", e.Billed.CachedTokens), slog.Int("completionTokens", e.Billed.CompletionTokens),
		slog.Any("faults", e.Faults), slog.Duration("took", took))
}

// readBody reads the body into the ledger; on failure it answers and returns false.
func (x *exchange) readBody() ([]byte, bool) {
	body, err := x.s.readBody(x.w, x.r)
	if err != nil {
		x.fail(err)
		return nil, false
	}
	x.s.ledger.setBody(x.entry, body)
	return body, true
}

// accept takes a model id out of known, with the faults named in it; on failure it answers and returns false.
func (x *exchange) accept(model string, known []string, stream bool) (base string, faults []Fault, ok bool) {
	x.s.ledger.update(x.entry, func(e *Entry) { e.Model, e.Stream = model, stream })
	base, faults, err := parseModel(model)
	listed := slices.Contains(known, model)
	if listed && err != nil {
		// A served id may hold an "@" that names no fault.
		base, faults, err = model, nil, nil
	}
	if err != nil {
		x.fail(badRequest("model", "bad_directive", "model %q: %s", model, err))
		return "", nil, false
	}
	if !listed && !slices.Contains(known, base) {
		x.fail(&apiError{
			status: http.StatusNotFound, kind: typeInvalid, param: "model", code: "model_not_found",
			message: fmt.Sprintf("the model %q does not exist", model),
		})
		return "", nil, false
	}
	x.accepted = true
	return base, faults, true
}

// applyFaults computes the effects and carries out those that come before the answer; false means that it is answered.
func (x *exchange) applyFaults(t target, inModel, inText []Fault) bool {
	pace := x.eff.chunkDelay
	x.eff = x.s.faults.effects(t, inModel, inText)
	if x.eff.chunkDelay == 0 {
		x.eff.chunkDelay = pace
	}
	if len(x.eff.names) > 0 {
		x.s.ledger.update(x.entry, func(e *Entry) { e.Faults = x.eff.names })
	}
	if x.wait(x.eff.headerDelay) != nil {
		return false
	}
	if x.eff.hang {
		x.settle(OutcomeStalled)
		<-x.ctx.Done()
		return false
	}
	if x.eff.failure != nil {
		x.fail(x.eff.failure)
		return false
	}
	return true
}

// settle bills the request once, for what was sent so far.
func (x *exchange) settle(outcome Outcome) {
	bill := x.bill
	if bill.PromptTokens > 0 || x.override != nil {
		x.out.apply(&bill)
		x.override.apply(&bill)
	}
	x.s.ledger.settle(x.entry, settlement{outcome: outcome, bill: bill, chunks: x.sent, accepted: x.accepted})
}

// fail answers with an error object; nothing is billed.
func (x *exchange) fail(err *apiError) {
	x.bill, x.override = Usage{}, nil
	x.s.ledger.update(x.entry, func(e *Entry) {
		if e.Outcome == OutcomeRunning {
			e.Error = err.message
		}
	})
	x.settle(OutcomeError)
	err.setHeaders(x.w.Header())
	_ = x.respond(err.status, err.body())
}

// respond sends a whole JSON body with its length.
func (x *exchange) respond(status int, body []byte) error {
	x.head(status, "application/json", len(body))
	return x.write(body)
}

// head sends the status line and headers. A negative length means that it is not known.
func (x *exchange) head(status int, contentType string, length int) {
	x.s.ledger.update(x.entry, func(e *Entry) { e.Status = status })
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	if length >= 0 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	x.w.WriteHeader(status)
}

// wait blocks for d, or until the client goes away.
func (x *exchange) wait(d time.Duration) error {
	if d <= 0 {
		return x.ctx.Err()
	}
	if err := x.s.opts.Wait(x.ctx, d); err != nil {
		return fmt.Errorf("waiting for the client or the pace: %w", err)
	}
	return nil
}

// write hands b to the connection, byte by byte under a slow-body fault.
func (x *exchange) write(b []byte) error {
	if x.eff.byteDelay > 0 {
		for i := range b {
			if err := x.wait(x.eff.byteDelay); err != nil {
				return err
			}
			if err := x.send(b[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	x.arm()
	if _, err := x.w.Write(b); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// send writes b and flushes it.
func (x *exchange) send(b []byte) error {
	x.arm()
	if _, err := x.w.Write(b); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if err := x.rc.Flush(); err != nil {
		return fmt.Errorf("flushing the answer: %w", err)
	}
	return nil
}

// arm moves the write deadline, at most a few times per timeout because moving it costs more than a small write.
func (x *exchange) arm() {
	now := time.Now()
	if now.Sub(x.armed) > x.s.opts.WriteTimeout/4 {
		// Not every kind of writer has deadlines; then the caller's own limits hold.
		_ = x.rc.SetWriteDeadline(now.Add(x.s.opts.WriteTimeout))
		x.armed = now
	}
}

// reset closes the connection so that the client sees a TCP reset, not an end of file.
func (x *exchange) reset() error {
	x.settle(OutcomeReset)
	conn, _, err := x.rc.Hijack()
	if err != nil {
		// HTTP/2 and recorders: net/http resets the stream instead.
		panic(http.ErrAbortHandler)
	}
	x.hijacked = true
	raw := conn
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		raw = wrapped.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		// No lingering means that closing discards what is unsent and sends RST.
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
	return errStopped
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"iter"
	"net/http"
)

const argumentPieceRunes = 12

// stream sends an answer as server-sent events.
func (x *exchange) stream(req *chatRequest, a answer) {
	if x.eff.cut == KindReset && x.eff.cutAfter == 0 {
		_ = x.reset()
		return
	}
	f := newFrames(x.responseID(), req.model, x.start.Unix(), req.includeUsage && !x.eff.noUsage)
	x.w.Header().Set("Cache-Control", "no-cache")
	x.head(http.StatusOK, "text/event-stream; charset=utf-8", -1)
	if x.sendFrame(f.delta(`{"role":"assistant","content":""}`)) != nil {
		return
	}
	if x.chunks(f, a) != nil || x.lateFaults() != nil {
		return
	}
	// Settled before the last frames: whoever has read them finds the request in the ledger.
	x.settle(OutcomeComplete)
	if x.sendFrame(f.finish(a.finish)) != nil {
		return
	}
	if req.includeUsage && !x.eff.noUsage && x.sendFrame(f.usage(x.usage())) != nil {
		return
	}
	if !x.eff.noDone {
		_ = x.sendFrame([]byte(doneFrame))
	}
}

// chunks sends the reasoning, the text and the tool calls.
func (x *exchange) chunks(f *frames, a answer) error {
	for piece := range split(a.reasoning, a.chunks) {
		if err := x.chunk(f.text("reasoning_content", piece), &x.out.reasoning, units(piece)); err != nil {
			return err
		}
	}
	if a.repeat > 0 {
		frame, n := f.text("content", a.content), units(a.content)
		for range a.repeat {
			if err := x.chunk(frame, &x.out.content, n); err != nil {
				return err
			}
		}
	} else {
		for piece := range split(a.content, a.chunks) {
			if err := x.chunk(f.text("content", piece), &x.out.content, units(piece)); err != nil {
				return err
			}
		}
	}
	for i, c := range a.calls {
		if err := x.streamCall(f, i, c); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) streamCall(f *frames, index int, c toolCall) error {
	if err := x.chunk(f.call(index, c), &x.out.calls, units(c.Function.Name)); err != nil {
		return err
	}
	for piece := range argumentPieces(c.Function.Arguments) {
		if err := x.chunk(f.arguments(index, piece), &x.out.calls, units(piece)); err != nil {
			return err
		}
	}
	return nil
}

// argumentPieces splits arguments every argumentPieceRunes code points.
func argumentPieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, n := 0, 0
		for i := range s {
			if n == argumentPieceRunes {
				if !yield(s[start:i]) {
					return
				}
				start, n = i, 0
			}
			n++
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

// chunk sends one frame of the answer at its pace, unless a fault cuts the stream here. n is added to counter.
func (x *exchange) chunk(frame []byte, counter *int, n int) error {
	if x.eff.malformed && x.sent >= x.eff.malformedAt {
		if err := x.sendMalformed(); err != nil {
			return err
		}
	}
	if x.eff.cut != "" && x.sent >= x.eff.cutAfter {
		return x.cutNow()
	}
	if err := x.wait(x.eff.chunkDelay); err != nil {
		return err
	}
	if err := x.sendFrame(frame); err != nil {
		return err
	}
	*counter += n
	x.sent++
	return nil
}

// lateFaults carries out what was to come after more chunks than the answer has.
func (x *exchange) lateFaults() error {
	if x.eff.malformed {
		if err := x.sendMalformed(); err != nil {
			return err
		}
	}
	if x.eff.cut != "" {
		return x.cutNow()
	}
	return nil
}

func (x *exchange) sendMalformed() error {
	x.eff.malformed = false
	return x.sendFrame([]byte(malformedFrame))
}

// sendFrame sends one frame with one flush, or byte by byte under a slow-body fault.
func (x *exchange) sendFrame(frame []byte) error {
	if x.eff.byteDelay > 0 {
		return x.write(frame)
	}
	return x.send(frame)
}

// cutNow ends the answer the way the cut fault says. It always returns an error.
func (x *exchange) cutNow() error {
	switch x.eff.cut {
	case KindReset:
		return x.reset()
	case KindStall:
		x.settle(OutcomeStalled)
		<-x.ctx.Done()
	case KindErrorFrame:
		x.settle(OutcomeTruncated)
		frame := append([]byte("data: "), x.eff.errorFrame().body()...)
		_ = x.sendFrame(append(frame, "\n\n"...))
	default:
		x.settle(OutcomeTruncated)
	}
	return errStopped
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

const (
	readBuffer = 16 << 10
	// maxFrame bounds one line of a stream, in bytes.
	maxFrame = 8 << 20
)

var doneMark = []byte("[DONE]")

// eventReader reads the data lines of a stream of server-sent events. The client library has a reader of its own, which
// costs a dozen allocations a line and loses errors of an unusual form; this one has none in the ordinary case.
type eventReader struct {
	r    *bufio.Reader
	long []byte // a line longer than the buffer
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, readBuffer)}
}

// next returns the data of the next line that has some, valid until the next call. io.EOF means the end, be it the
// closing mark or that of the body. A last line without a line break counts.
func (e *eventReader) next() ([]byte, error) {
	for {
		line, err := e.line()
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok {
			if data = bytes.TrimSpace(data); bytes.Equal(data, doneMark) {
				return nil, io.EOF
			}
			if len(data) > 0 {
				return data, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	e.long = append(e.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(e.long) > maxFrame {
			return nil, errNonsense
		}
		line, err = e.r.ReadSlice('\n')
		e.long = append(e.long, line...)
	}
	return e.long, err
}

// bodyKey is the context key under which a call leaves the place where the doer puts the body of a stream.
type bodyKey struct{}

// withBody makes a context whose streamed reply's body ends up in the returned place.
func withBody(ctx context.Context) (context.Context, *io.ReadCloser) {
	place := new(io.ReadCloser)
	return context.WithValue(ctx, bodyKey{}, place), place
}

// takeBody puts the body of a stream where the caller wants it and leaves the library an empty one.
func takeBody(ctx context.Context, resp *http.Response) {
	if place, ok := ctx.Value(bodyKey{}).(*io.ReadCloser); ok {
		*place, resp.Body = resp.Body, http.NoBody
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readBuffer = 16 << 10
	// maxFrame bounds one line of a stream, in bytes.
	maxFrame = 8 << 20
)

var (
	dataField = []byte("data:")
	doneMark  = []byte("[DONE]")
)

// Frames reads a stream piece by piece, be it server-sent events or JSON by lines. It allocates nothing in the ordinary
// case.
type Frames struct {
	r      *bufio.Reader
	long   []byte // a line longer than the buffer
	events bool
}

// Events reads server-sent events.
func Events(r io.Reader) *Frames { return &Frames{r: bufio.NewReaderSize(r, readBuffer), events: true} }

// Lines reads a stream of JSON documents, one a line.
func Lines(r io.Reader) *Frames { return &Frames{r: bufio.NewReaderSize(r, readBuffer)} }

// Next returns the data of the next line that has some, valid until the next call. io.EOF means the end, be it the
// closing mark of events or that of the body. A last line without a line break counts. A line that is too long is
// ErrNonsense.
func (f *Frames) Next() ([]byte, error) {
	for {
		line, err := f.line()
		data, ok := bytes.TrimSpace(line), true
		if f.events {
			data, ok = bytes.CutPrefix(data, dataField)
			data = bytes.TrimSpace(data)
		}
		if ok && f.events && bytes.Equal(data, doneMark) {
			return nil, io.EOF
		}
		if ok && len(data) > 0 {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (f *Frames) line() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	f.long = append(f.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(f.long) > maxFrame {
			return nil, ErrNonsense
		}
		line, err = f.r.ReadSlice('\n')
		f.long = append(f.long, line...)
	}
	return f.long, err
}

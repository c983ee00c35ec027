// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func all(f *Frames) (out []string, err error) {
	for {
		data, err := f.Next()
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 3*readBuffer)
	got, err := all(Events(strings.NewReader("event: a\r\ndata: 1\r\n\r\n: c\ndata:2\ndata: " + long + "\ndata: [DONE]\ndata: 3\n")))
	if strings.Join(got, ",") != "1,2,"+long || !errors.Is(err, io.EOF) {
		t.Errorf("got %d frames, %v", len(got), err)
	}
	got, err = all(Lines(strings.NewReader("{}\n\n [DONE] \n" + long)))
	if strings.Join(got, ",") != "{},[DONE],"+long || !errors.Is(err, io.EOF) {
		t.Errorf("got %d frames, %v", len(got), err)
	}
	if _, err = all(Lines(io.LimitReader(endless{}, maxFrame+maxFrame/2))); !errors.Is(err, ErrNonsense) {
		t.Errorf("a line without end gives %v", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: [DONE]\n"))
	f.Add([]byte("{}\n{"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, frames := range []*Frames{Events(bytes.NewReader(body)), Lines(bytes.NewReader(body))} {
			got, err := all(frames)
			if !errors.Is(err, io.EOF) {
				t.Errorf("%q: %v", body, err)
			}
			for _, g := range got {
				if g == "" || strings.Contains(g, "\n") || strings.TrimSpace(g) != g {
					t.Errorf("%q: frame %q", body, g)
				}
			}
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Unmarshal reads a JSON document of a server. What is no JSON is ErrNonsense. A field of another type than expected is
// as good as absent: everything else is read.
func Unmarshal(data []byte, out any) error {
	err := json.Unmarshal(data, out)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err == nil || ok {
		return nil
	}
	return ErrNonsense
}

// Pieces reads the JSON documents of one streamed reply and counts them. The zero value is ready.
type Pieces struct{ read, malformed int }

// Each hands the frames of a stream on, one by one, until one is the last of the reply. After a stream that ends
// without such a one it calls ended. The first error ends it.
func (p *Pieces) Each(
	c Call, frames *Frames, piece func(data []byte) (last bool, err error), ended func() error,
) error {
	quiet := c.AwaitFrame()
	defer func() { quiet() }()
	for {
		data, err := frames.Next()
		if errors.Is(err, io.EOF) {
			p.logMalformed(c)
			if p.read == p.malformed {
				return ErrNonsense
			}
			return ended()
		}
		if err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		if p.read++; p.read == 1 {
			quiet()
		}
		last, err := piece(data)
		if err != nil {
			return err
		}
		if last {
			p.logMalformed(c)
			return nil
		}
	}
}

// Parse reads a frame, or tells that it is no JSON and to be skipped.
func (p *Pieces) Parse(data []byte, out any) (ok bool) {
	if Unmarshal(data, out) != nil {
		p.malformed++
		return false
	}
	return true
}

func (p *Pieces) logMalformed(c Call) {
	if p.malformed > 0 {
		c.Log.Debug("Skipped malformed parts of an answer", "count", p.malformed)
	}
}

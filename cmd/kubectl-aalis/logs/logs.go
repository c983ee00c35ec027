// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs copies the logs of a bot's pods, each line marked with its pod where there are several. Lines are copied as
// they come and never interleave within a line.
package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/controllers/render"
)

// Stream opens the log of one pod's kernel.
type Stream func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)

// Options says which part of the logs to copy.
type Options struct {
	// Follow goes on until the context ends.
	Follow bool
	// Previous is the log of the container before it was started anew.
	Previous bool
	// Timestamps precede each line.
	Timestamps bool
	// Tail is how many last lines to begin with; negative is all.
	Tail int64
	// SinceSeconds leaves out what is older; 0 leaves out nothing.
	SinceSeconds int64
}

// Copy copies the logs of the pods to out. With several pods all are copied at the same time when following, and one after
// the other when not. An error of one pod does not end the others; the errors are joined.
func Copy(ctx context.Context, open Stream, pods []string, o Options, out io.Writer) error {
	w := &lines{w: out}
	errs := make([]error, len(pods))
	var group errgroup.Group
	if !o.Follow {
		group.SetLimit(1)
	}
	for i, pod := range pods {
		group.Go(func() error {
			prefix := ""
			if len(pods) > 1 {
				prefix = "[" + pod + "] "
			}
			errs[i] = w.copy(ctx, open, pod, prefix, o)
			return nil
		})
	}
	return errors.Join(append(errs, group.Wait())...)
}

// lines writes whole lines.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) copy(ctx context.Context, open Stream, pod, prefix string, o Options) error {
	options := &corev1.PodLogOptions{
		Container: render.ContainerName, Follow: o.Follow, Previous: o.Previous, Timestamps: o.Timestamps,
	}
	if o.Tail >= 0 {
		options.TailLines = &o.Tail
	}
	if o.SinceSeconds > 0 {
		options.SinceSeconds = &o.SinceSeconds
	}
	stream, err := open(ctx, pod, options)
	if err != nil {
		return fmt.Errorf("reading the log of pod %s: %w", pod, err)
	}
	defer func() { _ = stream.Close() }()
	r := bufio.NewReader(stream)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			if writeErr := l.write(prefix, line); writeErr != nil {
				return writeErr
			}
		}
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("reading the log of pod %s: %w", pod, err)
		}
	}
}

func (l *lines) write(prefix, line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line[len(line)-1] != '\n' {
		line += "\n"
	}
	_, err := io.WriteString(l.w, prefix+line)
	return err
}

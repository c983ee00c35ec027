// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console is the platform "cli": a conversation in the terminal, or with a script through pipes. Package host
// uses it when a bot runs without a cluster.
//
// Its one user is "console" in the session "cli". Messages go one after the other: the next line is read when the turn of
// the last has ended. It prints replies as they are written and nothing else to its output; it never reads the terminal
// directly, so that it works the same for people and for pipes.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// The identity of the console.
const (
	Platform = "cli"
	UserID   = "console"
	Session  = "cli"
)

// maxLine bounds one message, in bytes.
const maxLine = 1 << 20

// endGrace is how long a turn that has been answered may take to be reported as ended. A message that the gateway
// refuses is answered and never reported.
const endGrace = 2 * time.Second

// Errors of Ask.
var (
	// ErrNotRunning says that there is nobody to take the message.
	ErrNotRunning = errors.New("the bot does not take messages: its gateway does not run")
	// ErrFailed says that the bot answered with a notice that something went wrong. The notice has been printed.
	ErrFailed = errors.New("the bot could not answer")
)

// Options configure a Console. In and Out must be set.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Interactive shows a prompt and who speaks.
	Interactive bool
	// Name of the bot, for an interactive console.
	Name string
}

// Console is one conversation.
type Console struct {
	opts Options

	mu     sync.Mutex
	root   *kernel.Context
	turns  int
	turn   *turn
	failed error // of writing
}

// turn is a message that is being answered.
type turn struct {
	id       string
	printed  strings.Builder
	open     bool // the line on the output is not ended
	answered chan struct{}
	ended    chan struct{}
	asked    chan struct{} // of room one: the bot waits for an answer to a question
	notice   bool
}

// New makes a Console.
func New(o Options) *Console { return &Console{opts: o} }

// Attach makes the console follow a kernel. Its context is the kernel's root.
func (c *Console) Attach(k *kernel.Context) {
	c.mu.Lock()
	c.root = k
	c.mu.Unlock()
	message.Stream.On(k, func(_ context.Context, s message.StreamChunk) error {
		if s.Platform == Platform && s.SessionID == Session {
			c.stream(s)
		}
		return nil
	})
	message.Outbound.On(k, func(_ context.Context, o message.Outgoing) error {
		if (o.Platform == Platform || o.Platform == "") && o.SessionID == Session {
			c.outgoing(o)
		}
		return nil
	})
	gateway.Done.On(k, func(_ context.Context, p gateway.PhaseDone) error {
		if p.Phase == gateway.PhaseDispatch || !p.ReachedEnd {
			c.end(p.TurnID)
		}
		return nil
	})
}

// Run reads messages, a line each, and has them answered until the input ends or ctx does. A turn that runs when ctx ends
// may go on until cut ends. A failed turn does not end the conversation; Run then returns ErrFailed at its end.
func (c *Console) Run(ctx, cut context.Context) error {
	lines, readErr := c.lines(ctx)
	var result error
	for {
		c.prompt()
		select {
		case <-ctx.Done():
			c.newline()
			return result
		case line, ok := <-lines:
			if !ok {
				c.newline()
				return errors.Join(result, *readErr)
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if err := c.ask(cut, line, lines); err != nil {
				if !errors.Is(err, ErrFailed) {
					return err
				}
				result = ErrFailed
			}
		}
	}
}

// lines reads in a goroutine of its own, because a read cannot be interrupted: after ctx it ends with the next line. The
// error is set when the channel is closed.
func (c *Console) lines(ctx context.Context) (<-chan string, *error) {
	lines := make(chan string)
	var failed error
	go func() {
		defer close(lines)
		in := bufio.NewScanner(c.opts.In)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
		if err := in.Err(); err != nil {
			failed = fmt.Errorf("reading messages: %w", err)
		}
	}()
	return lines, &failed
}

// Ask sends one message and returns when its turn has ended. A question that the bot has meanwhile is answered with nothing,
// which refuses: there is nobody to answer it.
func (c *Console) Ask(ctx context.Context, text string) error {
	none := make(chan string)
	close(none)
	return c.ask(ctx, text, none)
}

// ask is Ask with the lines that answer questions of the bot.
func (c *Console) ask(ctx context.Context, text string, lines <-chan string) error {
	c.mu.Lock()
	root := c.root
	if root == nil {
		c.mu.Unlock()
		return ErrNotRunning
	}
	t := &turn{id: c.nextID(), answered: make(chan struct{}), ended: make(chan struct{}), asked: make(chan struct{}, 1)}
	c.turn = t
	c.mu.Unlock()
	if _, ok := gateway.Service.Get(root); !ok {
		return ErrNotRunning
	}
	message.Inbound.Emit(ctx, root, incoming(t.id, text))
	err := t.wait(ctx, lines, func(line string) {
		c.mu.Lock()
		id := c.nextID()
		c.mu.Unlock()
		message.Inbound.Emit(ctx, root, incoming(id, line))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = nil
	if t.open {
		c.print("\n")
	}
	switch {
	case c.failed != nil:
		return c.failed
	case err == nil && t.notice:
		return ErrFailed
	}
	return err
}

// nextID names the next message; the lock is held.
func (c *Console) nextID() string {
	c.turns++
	return fmt.Sprintf("cli-%d", c.turns)
}

func incoming(id, text string) message.Incoming {
	return message.Incoming{
		Content: text, SessionID: Session, Platform: Platform, UserID: UserID,
		MessageID: id, TurnID: id, SessionType: message.SessionPrivate, TriggerType: message.TriggerDirect,
	}
}

// wait returns when the turn has ended, or a moment after it was answered. While the bot waits for an answer to a question the
// next line is that answer.
func (t *turn) wait(ctx context.Context, lines <-chan string, answer func(line string)) error {
	var next <-chan string // lines while a question is open
	for done := false; !done; {
		select {
		case <-t.ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for the answer: %w", context.Cause(ctx))
		case <-t.answered:
			done = true
		case <-t.asked:
			next = lines
		case line := <-next: // nothing once the input has ended
			next = nil
			answer(line)
		}
	}
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case <-t.ended:
	case <-ctx.Done():
	case <-grace.C:
	}
	return nil
}

// mine tells whether something belongs to the running turn.
func (c *Console) mine(turnID string) bool {
	return c.turn != nil && (turnID == c.turn.id || turnID == "")
}

func (c *Console) stream(s message.StreamChunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ContentDelta == "" || !c.mine(s.TurnID) {
		return
	}
	c.speak(s.ContentDelta)
}

// outgoing prints what of a reply has not been streamed.
func (c *Console) outgoing(o message.Outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mine(o.TurnID) {
		c.print("\n" + strings.TrimSpace(o.Content) + "\n")
		return
	}
	t := c.turn
	content := strings.TrimSpace(o.Content)
	if content != "" && !strings.HasSuffix(strings.TrimSpace(t.printed.String()), content) {
		if t.open {
			c.print("\n")
			t.open = false
		}
		c.speak(content)
	}
	if o.Interim {
		if t.open {
			c.print("\n")
			t.open = false
		}
		select {
		case t.asked <- struct{}{}:
		default:
		}
		return
	}
	t.notice = o.Source == message.FromSystem
	closeOnce(t.answered)
}

func (c *Console) end(turnID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil && turnID == c.turn.id {
		closeOnce(c.turn.ended)
	}
}

// closeOnce closes a channel that may be closed; the lock is held.
func closeOnce(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// speak prints a piece of the bot's reply.
func (c *Console) speak(text string) {
	t := c.turn
	if !t.open && c.opts.Interactive {
		c.print(c.opts.Name + ": ")
	}
	t.open = true
	t.printed.WriteString(text)
	c.print(text)
	if strings.HasSuffix(text, "\n") {
		t.open = false
	}
}

func (c *Console) prompt() {
	if c.opts.Interactive {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.print("> ")
	}
}

// newline ends the line of the prompt.
func (c *Console) newline() {
	if c.opts.Interactive {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.print("\n")
	}
}

// print writes to the output; the first failure ends the conversation.
func (c *Console) print(text string) {
	if c.failed != nil {
		return
	}
	if _, err := io.WriteString(c.opts.Out, text); err != nil {
		c.failed = fmt.Errorf("writing the answer: %w", err)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionconfirm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/confirm"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// maxWaiting bounds the questions of a session, the one that is being asked included. A model may call a hundred tools at
// once; nobody answers a hundred questions.
const maxWaiting = 32

// doubled is how soon after an answer a yes is taken to have been said twice: nobody reads another question in that time.
const doubled = 700 * time.Millisecond

// maxAnswered bounds the sessions of which the last answer is remembered.
const maxAnswered = 1024

// noticeTimeout bounds how long showing a text may take.
const noticeTimeout = 30 * time.Second

var (
	errDisposed = errors.New("confirmations have stopped")
	errTooMany  = errors.New("too many operations of the session wait for confirmation")
)

// coordinator implements confirm.Coordinator.
type coordinator struct {
	k     *kernel.Context
	after timer

	mu       sync.Mutex
	disposed bool
	channels []*channel
}

// CreateChannel implements confirm.Coordinator.
func (c *coordinator) CreateChannel(deliver confirm.Deliver) confirm.Channel {
	ch := &channel{k: c.k, after: c.after, deliver: deliver, queues: map[string][]*question{}, answered: map[string]time.Time{}, gone: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disposed {
		ch.Dispose()
		return ch
	}
	c.channels = slices.DeleteFunc(c.channels, (*channel).isDisposed)
	c.channels = append(c.channels, ch)
	return ch
}

func (c *coordinator) dispose() {
	c.mu.Lock()
	all := c.channels
	c.channels, c.disposed = nil, true
	c.mu.Unlock()
	for _, ch := range all {
		ch.Dispose()
	}
}

// channel implements confirm.Channel.
type channel struct {
	k       *kernel.Context
	after   timer
	deliver confirm.Deliver
	once    sync.Once
	gone    chan struct{} // closed by Dispose

	mu     sync.Mutex
	queues map[string][]*question // by session; the first is being asked
	// answered is when a session last said yes to a question, as far as that was a moment ago.
	answered map[string]time.Time
}

// question is one request that waits for its answer.
type question struct {
	r      access.ConfirmRequest
	head   chan struct{}             // closed when it is the first of its session
	answer chan access.ConfirmAnswer // of room one, so that who answers never waits
	again  chan struct{}             // of room one: it is to be shown once more
	asked  bool                      // it is being shown or has been; guarded by channel.mu
}

// Dispose implements confirm.Channel.
func (c *channel) Dispose() { c.once.Do(func() { close(c.gone) }) }

func (c *channel) isDisposed() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// Handle implements confirm.Channel. A question waits without a limit of its own until it is the first of its session.
func (c *channel) Handle(ctx context.Context, r access.ConfirmRequest) (access.ConfirmAnswer, error) {
	q := &question{r: r, head: make(chan struct{}), answer: make(chan access.ConfirmAnswer, 1), again: make(chan struct{}, 1)}
	if err := c.join(q); err != nil {
		return access.ConfirmAnswer{}, err
	}
	defer c.leave(q)
	select {
	case <-q.head:
	case <-c.gone:
		return access.ConfirmAnswer{}, errDisposed
	case <-ctx.Done():
		return access.ConfirmAnswer{}, ctx.Err()
	}
	if err := c.ask(ctx, q); err != nil {
		return access.ConfirmAnswer{}, err
	}
	fired, stop := c.after(timeout)
	defer stop()
	for {
		select {
		case answer := <-q.answer:
			return answer, nil
		case <-q.again:
			if err := c.ask(ctx, q); err != nil {
				return access.ConfirmAnswer{}, err
			}
		case <-fired:
			return c.tooLate(ctx, q), nil
		case <-c.gone:
			return access.ConfirmAnswer{}, errDisposed
		case <-ctx.Done():
			return access.ConfirmAnswer{}, ctx.Err()
		}
	}
}

// join puts a question at the end of the line of its session.
func (c *channel) join(q *question) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := c.queues[q.r.SessionID]
	switch {
	case c.isDisposed():
		return errDisposed
	case len(line) >= maxWaiting:
		return errTooMany
	case len(line) == 0:
		close(q.head)
	}
	c.queues[q.r.SessionID] = append(line, q)
	return nil
}

// leave takes a question out of the line, if it is still there, and lets the next one be asked.
func (c *channel) leave(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(q)
}

func (c *channel) remove(q *question) {
	line := c.queues[q.r.SessionID]
	at := slices.Index(line, q)
	if at < 0 {
		return
	}
	line = slices.Delete(line, at, at+1)
	if len(line) == 0 {
		delete(c.queues, q.r.SessionID)
		return
	}
	c.queues[q.r.SessionID] = line
	if at == 0 {
		close(line[0].head)
	}
}

// ask shows a question. It can be answered from the moment before it is shown, since an answer may be quicker than the news that
// the question has arrived.
func (c *channel) ask(ctx context.Context, q *question) error {
	c.mu.Lock()
	q.asked = true
	c.mu.Unlock()
	lang, what := i18n.Of(c.k), operation(q.r.Capability)
	text := i18n.ConfirmSession(what, int(grantFor/time.Minute)).In(lang)
	if q.r.Confirm == access.ConfirmAlways {
		text = i18n.ConfirmAlways(what).In(lang)
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	return c.deliver(ctx, q.r.Request, text)
}

// tooLate ends a question that nobody has answered. An answer that came in this very moment still counts.
func (c *channel) tooLate(ctx context.Context, q *question) access.ConfirmAnswer {
	c.leave(q)
	select {
	case answer := <-q.answer:
		return answer
	default:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeTimeout)
	defer cancel()
	if err := c.deliver(ctx, q.r.Request, i18n.ConfirmTimedOut(operation(q.r.Capability)).In(i18n.Of(c.k))); err != nil {
		c.k.Logger().Warn("Could not say that a confirmation came too late", "sessionId", q.r.SessionID, "error", err)
	}
	return access.ConfirmAnswer{}
}

// Feed implements confirm.Channel. A yes that comes at once after another answer, or before the question is shown, was said to
// the question before: it has no effect, the question is shown once more, and the message goes nowhere else, since a model that
// sees it would begin a new turn.
func (c *channel) Feed(sessionID, platform, userID, text string) (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := c.queues[sessionID]
	if len(line) == 0 || c.isDisposed() {
		return false
	}
	q := line[0]
	if q.r.UserID != userID || q.r.Platform != platform {
		return false
	}
	answer, now := parse(text, q.r.Confirm), c.k.Now()
	last, before := c.answered[sessionID]
	switch twice := before && now.Sub(last) < doubled && now.Sub(last) >= 0; {
	case answer.Allowed && (twice || !q.asked):
		if q.asked {
			select {
			case q.again <- struct{}{}:
			default:
			}
		}
		return true
	case !q.asked:
		return false
	}
	c.remove(q)
	if answer.Allowed {
		// Only a yes is said twice: after a no, a yes however quick is meant for the next question.
		c.remember(sessionID, now)
	}
	q.answer <- answer
	return true
}

// remember notes when a session last said yes, and forgets what is no longer a moment ago. The caller holds mu.
func (c *channel) remember(sessionID string, now time.Time) {
	if len(c.answered) >= maxAnswered {
		for id, at := range c.answered {
			if now.Sub(at) >= doubled {
				delete(c.answered, id)
			}
		}
	}
	if len(c.answered) < maxAnswered {
		c.answered[sessionID] = now
	}
}

// parse reads an answer. Whatever is neither a yes nor a yes for the session is a no.
func parse(text string, c access.Confirm) access.ConfirmAnswer {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return access.ConfirmAnswer{Allowed: true}
	case "ys":
		if c == access.ConfirmAlways {
			return access.ConfirmAnswer{Allowed: true}
		}
		return access.ConfirmAnswer{Allowed: true, ForSession: grantFor}
	default:
		return access.ConfirmAnswer{}
	}
}

// operation is how a capability is shown: a command with its slash, a tool by its name.
func operation(capability string) string {
	kind, name, ok := strings.Cut(capability, ":")
	switch {
	case !ok:
		return capability
	case kind == "command":
		return "/" + name
	default:
		return name
	}
}

var _ confirm.Coordinator = (*coordinator)(nil)

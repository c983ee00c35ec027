// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// maxNames is how many bots a message names; maxMessage is the most bytes that a bot adds to it.
const (
	maxNames   = 5
	maxMessage = 400
)

// Bot is what is seen of one bot that uses the object.
type Bot struct {
	// Name and Labels decide its place in the order.
	Name   string
	Labels map[string]string
	// Revision of the object that is in effect in it; 0 if none is known.
	Revision int64
	// Acknowledged tells that its kernel runs what is delivered, and that nothing is wrong that was not before.
	Acknowledged bool
	// Excused bots were broken before the roll-out began: nobody waits for them, and their errors are not new.
	Excused bool
	// Failure is what is newly wrong with the bot; empty if nothing is.
	Failure string
}

// State is what a roll-out is planned from, beside the bots and the clock.
type State struct {
	// Spec of the roll-out; nil rolls everything out at once.
	Spec *v1alpha1.RolloutSpec
	// Status as it was last written; nil at first.
	Status *v1alpha1.RolloutStatus
	// Generation of the object; Target is the revision of its spec, Current the one to fall back to, 0 if there is none.
	Generation, Target, Current int64
	// Same tells that both hold the same content.
	Same bool
	// Invalid says what is wrong with the present spec by itself; no bot gets such a revision.
	Invalid string
}

// Decision is what is to be done.
type Decision struct {
	// Status to be written; nil without a roll-out.
	Status *v1alpha1.RolloutStatus
	// Current is the revision to fall back to from now on.
	Current int64
	// Chosen are the bots that get, or have, the new revision; sorted by their place in the order.
	Chosen []string
	// RequeueAfter is when to look again; 0 is when something changes.
	RequeueAfter time.Duration
	// Halted tells that the revision is taken back.
	Halted bool
}

// Next plans the next move of a roll-out. Taking its own decision as the new state gives the same decision: it goes on only
// when bots or the clock have.
func Next(s State, bots []Bot, now time.Time) Decision {
	if s.Spec == nil || s.Target == 0 {
		return Decision{Current: s.Target}
	}
	p := newPlan(s, bots, now)
	switch {
	case p.status.Phase == v1alpha1.RolloutCompleted:
		p.complete()
	case p.status.Phase == v1alpha1.RolloutRolledBack:
		p.letThrough = nil
	case s.Current == 0 || s.Current == s.Target || s.Same || len(bots) < 2 && s.Invalid == "":
		p.complete()
	case s.Invalid != "":
		p.halt(s.Invalid)
	case len(p.failures) >= int(max(1, value(s.Spec.HaltOnErrors))):
		p.halt(strings.Join(p.failures, "; "))
	default:
		p.advance()
	}
	return p.decision()
}

type placed struct {
	Bot
	key string
}

type plan struct {
	State
	now        time.Time
	bots       []placed // in order
	ranks      []int
	status     v1alpha1.RolloutStatus
	letThrough []placed
	failures   []string
	after      time.Duration
	halted     bool
	current    int64
}

func newPlan(s State, bots []Bot, now time.Time) *plan {
	p := &plan{State: s, now: now, current: s.Current}
	for _, b := range bots {
		p.bots = append(p.bots, placed{b, Key(s.Spec, b.Name, b.Labels)})
	}
	slices.SortFunc(p.bots, func(a, b placed) int { return strings.Compare(a.key, b.key) })
	for _, b := range p.bots {
		rank := others
		if o := s.Spec.Order; o != nil && o.By == v1alpha1.RolloutByLabel {
			rank, _ = rankOf(s.Spec, b.Labels)
		}
		p.ranks = append(p.ranks, rank)
	}
	p.resume()
	for _, b := range p.bots {
		if !p.isThrough(b) {
			continue
		}
		p.letThrough = append(p.letThrough, b)
		if b.Failure != "" && !b.Excused {
			p.failures = append(p.failures, "bot "+b.Name+": "+cut(b.Failure))
		}
	}
	return p
}

// resume takes up the status, or begins a new one if it is about another revision. After an edit of the roll-out itself the
// old cut may mean nothing in the new order: those who have the revision keep it, the others wait for their step.
func (p *plan) resume() {
	old := p.Status
	if old == nil || value(old.Revision) != p.Target {
		p.status = v1alpha1.RolloutStatus{Revision: &p.Target, Step: ptr(int32(1)), Phase: v1alpha1.RolloutProgressing, StartTime: metav1.NewTime(p.now.Truncate(time.Second))}
		if old != nil {
			p.status.RolledBack = old.RolledBack
		}
	} else {
		p.status = *old.DeepCopy()
		p.status.Step = ptr(min(value(old.Step), int32(len(p.Spec.Steps)+1)))
		if value(old.ObservedGeneration) != p.Generation {
			p.status.Cut = ""
		}
	}
	p.status.ObservedGeneration = &p.Generation
	p.status.Message = ""
}

func (p *plan) isThrough(b placed) bool { return b.key <= p.status.Cut || b.Revision == p.Target }

// advance lets the bots of the step through, and goes on to the next step when they are done.
func (p *plan) advance() {
	paused := p.Spec.State == v1alpha1.RolloutStatePaused
	for {
		step := int(value(p.status.Step))
		if !paused {
			p.open(step)
		}
		waiting := p.waiting()
		if len(waiting) > 0 {
			p.status.StepTime = metav1.Time{}
			p.stay(v1alpha1.RolloutProgressing, fmt.Sprintf("waiting for %d of %d bots to acknowledge: %s", len(waiting), len(p.letThrough), names(waiting)))
			return
		}
		if paused {
			p.stay(v1alpha1.RolloutPaused, "spec.rollout.state is Paused")
			return
		}
		if step > len(p.Spec.Steps) {
			p.complete()
			return
		}
		if left := p.watch(); left > 0 {
			p.after = left
			p.stay(v1alpha1.RolloutWaiting, "watching the bots of the step before the next one begins")
			return
		}
		p.status.Step, p.status.StepTime = ptr(int32(step+1)), metav1.Time{}
	}
}

// open lets as many bots through as the step has room for, in order. Who has the revision already takes up room.
func (p *plan) open(step int) {
	room := share(p.Spec, step, p.ranks) - len(p.letThrough)
	for _, b := range p.bots {
		if p.isThrough(b) {
			p.status.Cut = max(p.status.Cut, b.key)
			continue
		}
		if room <= 0 {
			break
		}
		room--
		p.status.Cut = b.key
		p.letThrough = append(p.letThrough, b)
	}
}

// waiting names the bots that were let through and are not done.
func (p *plan) waiting() []string {
	var out []string
	for _, b := range p.letThrough {
		done := b.Revision == p.Target && b.Acknowledged
		if !done && !b.Excused && b.Failure == "" {
			out = append(out, b.Name)
		}
	}
	return out
}

// watch says how much longer a step that is done is watched.
func (p *plan) watch() time.Duration {
	pause := time.Duration(value(p.Spec.PauseSeconds)) * time.Second
	if pause == 0 {
		return 0
	}
	if p.status.StepTime.IsZero() {
		p.status.StepTime = metav1.NewTime(p.now.Truncate(time.Second))
	}
	return pause - p.now.Sub(p.status.StepTime.Time)
}

func (p *plan) stay(phase v1alpha1.RolloutPhase, message string) {
	p.status.Phase = phase
	p.status.Message = fmt.Sprintf("step %d of %d: %s", value(p.status.Step), len(p.Spec.Steps)+1, message)
}

func (p *plan) complete() {
	p.status.Phase, p.status.Cut, p.status.StepTime = v1alpha1.RolloutCompleted, "", metav1.Time{}
	p.status.Step = ptr(int32(len(p.Spec.Steps) + 1))
	p.letThrough, p.current = p.bots, p.Target
}

func (p *plan) halt(cause string) {
	p.status.Phase, p.status.Cut, p.status.StepTime = v1alpha1.RolloutRolledBack, "", metav1.Time{}
	p.status.RolledBack, p.halted, p.letThrough = &p.Target, true, nil
	p.status.Message = cause
}

func (p *plan) decision() Decision {
	if p.status.Phase == v1alpha1.RolloutRolledBack && !p.halted && p.Status != nil {
		p.status.Message = p.Status.Message // the cause stays for as long as the phase
	}
	updated := int32(0)
	for _, b := range p.bots {
		if b.Revision == p.Target && b.Acknowledged {
			updated++
		}
	}
	p.status.Updated, p.status.Total = &updated, ptr(int32(len(p.bots)))
	d := Decision{Status: &p.status, Current: p.current, RequeueAfter: p.after, Halted: p.halted}
	slices.SortFunc(p.letThrough, func(a, b placed) int { return strings.Compare(a.key, b.key) })
	for _, b := range p.letThrough {
		d.Chosen = append(d.Chosen, b.Name)
	}
	return d
}

func names(all []string) string {
	if len(all) <= maxNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
}

func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

func ptr[T any](v T) *T { return &v }

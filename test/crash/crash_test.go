// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	people = 6
	// lateKill and earlyKill bound the moment of a kill, after everybody had an answer or after the start.
	lateKill  = 150 * time.Millisecond
	earlyKill = 200 * time.Millisecond
	// earlyEvery: before the first of so many kills under load there is one more, while the bot starts.
	earlyEvery = 5
)

func kills() int {
	if os.Getenv("AALIS_FULL") == "1" {
		return 200
	}
	return 20
}

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("AALIS_SEED")
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("AALIS_SEED must be a whole number, got %q", text)
	}
	return n
}

// TestKill kills a bot that keeps its conversations in a file, and one that keeps them on a server, which stays up.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds, starts and kills the program")
	}
	binary := build(t)
	t.Run("SQLite", func(t *testing.T) {
		p := newProgram(t, binary, "{type: SQLite}")
		newTrial(t, p, sqliteReader(p.dataDir)).run()
	})
	t.Run("Redis", func(t *testing.T) {
		addr := startRedis(t)
		p := newProgram(t, binary, "{type: Redis, redis: {address: "+strconv.Quote(addr)+"}}")
		newTrial(t, p, redisReader(t, addr)).run()
	})
}

// trial is a bot, those who talk to it, and what it remembered when it was last looked at.
type trial struct {
	t       *testing.T
	program *program
	read    reader
	random  *rand.Rand
	people  []*person
	before  map[string][]string
	life    *process    // the present one
	dying   atomic.Bool // it is killed now, so that questions may fail
	early   int         // kills while the bot started
	cut     int         // questions that were acknowledged and not answered
	unheard int         // questions that are remembered and were not acknowledged
	open    int         // calls of tools that are remembered without the answer
}

func newTrial(t *testing.T, p *program, read reader) *trial {
	t.Helper()
	n := seed(t)
	t.Logf("AALIS_SEED=%d", n)
	tr := &trial{t: t, program: p, read: read, random: rand.New(rand.NewPCG(n, 0)), before: map[string][]string{}}
	for i := range people {
		tr.people = append(tr.people, &person{name: fmt.Sprintf("p%d", i), random: rand.New(rand.NewPCG(n, uint64(i+1)))})
	}
	t.Cleanup(func() {
		if tr.life != nil && tr.life.cmd.ProcessState == nil {
			tr.life.kill()
		}
		if t.Failed() && tr.life != nil {
			t.Logf("what the bot said last:\n%s", tr.life.log.String())
		}
	})
	return tr
}

func (tr *trial) run() {
	began := time.Now()
	n := kills()
	for i := range n {
		if i%earlyEvery == 0 {
			tr.killEarly()
			tr.check(fmt.Sprintf("early kill before kill %d", i+1))
		}
		tr.killUnderLoad()
		tr.check(fmt.Sprintf("kill %d", i+1))
	}
	tr.life = tr.program.start(tr.t)
	tr.dying.Store(false)
	until(tr.t, "the bot is ready", tr.life.ready)
	tr.talk(3, nil)
	if err := tr.life.stop(); err != nil {
		tr.t.Errorf("ending the bot: %v", err)
	}
	tr.check("the end")
	tr.figures(n, time.Since(began))
}

// killEarly kills the bot while it starts.
func (tr *trial) killEarly() {
	tr.early++
	tr.life = tr.program.start(tr.t)
	<-time.After(time.Duration(tr.random.Int64N(int64(earlyKill))))
	tr.life.kill()
}

// killUnderLoad kills the bot while everybody talks to it. Before that everybody had an answer, so that the kill before
// did no harm.
func (tr *trial) killUnderLoad() {
	moment := time.Duration(tr.random.Int64N(int64(lateKill)))
	tr.life = tr.program.start(tr.t)
	tr.dying.Store(false)
	until(tr.t, "the bot is ready", tr.life.ready)
	tr.talk(0, func() {
		<-time.After(moment)
		tr.dying.Store(true)
		tr.life.kill()
	})
}

// talk has everybody ask questions at the same time: each so many, or until kill, which is called when everybody had an
// answer, returns.
func (tr *trial) talk(each int, kill func()) {
	var (
		had sync.WaitGroup // an answer, or no hope of one
		all sync.WaitGroup
	)
	had.Add(len(tr.people))
	for _, p := range tr.people {
		all.Go(func() {
			first := sync.OnceFunc(had.Done)
			defer first()
			for n := 0; n < each || kill != nil; n++ {
				if err := p.ask(tr.t.Context(), tr.program.door, p.think()); err != nil {
					if !tr.dying.Load() {
						tr.t.Errorf("asking in %s: %v", p.name, err)
					}
					return
				}
				first()
			}
		})
	}
	if kill != nil {
		had.Wait()
		kill()
	}
	all.Wait()
}

// check compares what the bot remembers with what was said, and with what it remembered before.
func (tr *trial) check(when string) {
	tr.t.Helper()
	sessions := make([]string, len(tr.people))
	for i, p := range tr.people {
		sessions[i] = p.session()
	}
	remembered, err := tr.read(tr.t.Context(), sessions)
	if err != nil {
		tr.t.Fatalf("%s: the memory is corrupt: %v", when, err)
	}
	var problems []string
	for s := range remembered {
		if !slices.Contains(sessions, s) {
			problems = append(problems, "session that nobody began: "+s)
		}
	}
	for _, p := range tr.people {
		history := remembered[p.session()]
		for _, problem := range append(verify(p.questions, history), tr.changed(p.session(), history)...) {
			problems = append(problems, p.session()+": "+problem)
		}
	}
	if len(problems) > 0 {
		tr.t.Errorf("%s:\n  %s", when, strings.Join(problems, "\n  "))
	}
	if tr.t.Failed() {
		tr.t.FailNow()
	}
}

// changed tells what of an earlier check is no longer as it was: a history only grows.
func (tr *trial) changed(session string, history []message.Message) []string {
	now := make([]string, len(history))
	for i, m := range history {
		text, err := json.Marshal(m)
		if err != nil {
			return []string{err.Error()}
		}
		now[i] = string(text)
	}
	before := tr.before[session]
	tr.before[session] = now
	if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
		return []string{fmt.Sprintf("what was remembered before has changed: %d messages, %d now", len(before), len(now))}
	}
	return nil
}

// figures tells what was done, and fails if the kills missed what they are for.
func (tr *trial) figures(kills int, took time.Duration) {
	var questions, calls, stored int
	for _, p := range tr.people {
		stored += len(tr.before[p.session()])
		for _, q := range p.questions {
			questions++
			if q.calls > 0 {
				calls++
			}
		}
	}
	tr.count()
	tr.t.Logf("%d kills under load and %d while starting in %s: %d questions (%d with tools) in %d sessions, %d messages stored; "+
		"of the questions %d were cut off behind their acknowledgement, %d stored before it, %d between the tools and the answer",
		kills, tr.early, took.Round(100*time.Millisecond), questions, calls, len(tr.people), stored, tr.cut, tr.unheard, tr.open)
	if tr.cut == 0 {
		tr.t.Error("no kill hit an answer, so that nothing is proven")
	}
}

// count counts what the kills hit.
func (tr *trial) count() {
	for _, p := range tr.people {
		at := map[string]*question{}
		for _, q := range p.questions {
			at[q.text] = q
			if q.state == acknowledged {
				tr.cut++
			}
		}
		var last message.Message
		for _, text := range tr.before[p.session()] {
			var m message.Message
			if json.Unmarshal([]byte(text), &m) != nil {
				continue // it was encoded here
			}
			if m.Role == message.RoleUser {
				if last.Role == message.RoleTool {
					tr.open++
				}
				if q := at[m.Content]; q != nil && q.state == asked {
					tr.unheard++
				}
			}
			last = m
		}
	}
}

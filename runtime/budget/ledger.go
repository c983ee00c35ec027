// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"slices"
	"time"
)

// MaxSubjects bounds the people or conversations that one limit counts apart. Those beyond share one account, so that
// whoever makes up names gains nothing.
const MaxSubjects = 10_000

// Others is the subject that those beyond MaxSubjects share.
const Others = "others"

// Key names an account: a limit, what it counts, and whose it is.
type Key struct {
	// Limit is the name, and Unit what is counted: a limit that turns from tokens to money begins anew.
	Limit, Unit string
	// Subject is empty for the whole bot.
	Subject string
}

// Account is what was used in a window.
type Account struct {
	// Start of the window, in seconds since the epoch.
	Start int64 `json:"start"`
	// Used in it, in the unit of the limit.
	Used int64 `json:"used"`
}

// account is an Account with what calls that go on may still take.
type account struct {
	Account

	reserved int64
}

// Ledger holds the accounts of a bot. Its methods may not be called concurrently.
type Ledger struct {
	accounts map[Key]*account
	subjects map[Key]int // how many subjects a limit counts apart; the key has none
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{accounts: map[Key]*account{}, subjects: map[Key]int{}} }

// Restore puts an account back that was stored. Where one is there already the later window holds, and in the same window
// the higher use.
func (l *Ledger) Restore(key Key, a Account) {
	at := l.account(key)
	if a.Start > at.Start || a.Start == at.Start && a.Used > at.Used {
		at.Account = Account{Start: a.Start, Used: max(0, a.Used)}
	}
}

// keyOf is the account of a subject under a limit.
func (l *Ledger) keyOf(limit Limit, subject string) Key {
	key := Key{Limit: limit.Name, Unit: limit.Unit()}
	if limit.Scope == Bot {
		return key
	}
	whole := key
	key.Subject = subject
	if l.accounts[key] == nil && l.subjects[whole] >= MaxSubjects {
		key.Subject = Others
	}
	return key
}

func (l *Ledger) account(key Key) *account {
	if a := l.accounts[key]; a != nil {
		return a
	}
	a := &account{Account: Account{Start: math.MinInt64}}
	l.accounts[key] = a
	if key.Subject != "" {
		l.subjects[Key{Limit: key.Limit, Unit: key.Unit}]++
	}
	return a
}

// roll takes an account into the window of a moment. A clock that went back does not give what was used again: the account
// stays in the later window until that is over.
func (a *account) roll(limit Limit, now time.Time) {
	start, _ := limit.Per.Window(now, limit.Zone)
	if start.Unix() > a.Start {
		a.Account = Account{Start: start.Unix()}
	}
}

// Standing is how an account stands.
type Standing struct {
	Limit Limit
	// Used and Reserved in the unit of the limit.
	Used, Reserved int64
	// End of the window.
	End time.Time
}

// Spent is what is used and reserved.
func (s Standing) Spent() int64 { return add(s.Used, s.Reserved) }

// Left is what calls may still take.
func (s Standing) Left() int64 { return max(0, s.Limit.Amount-s.Spent()) }

// Percent of the limit that is spent, rounded down; 100 of one that allows nothing.
func (s Standing) Percent() int64 {
	if s.Limit.Amount <= 0 {
		return 100
	}
	return int64(float64(s.Spent()) / float64(s.Limit.Amount) * 100)
}

// Steps that are due.
func (s Standing) Steps() []Step {
	percent := s.Percent()
	i := slices.IndexFunc(s.Limit.Steps, func(step Step) bool { return step.Percent > percent })
	if i < 0 {
		return s.Limit.Steps
	}
	return s.Limit.Steps[:i]
}

// Look tells how a subject stands, and changes nothing.
func (l *Ledger) Look(limit Limit, subject string, now time.Time) Standing {
	a := account{Account: Account{Start: math.MinInt64}}
	if at := l.accounts[l.keyOf(limit, subject)]; at != nil {
		a = *at
	}
	return standing(&a, limit, now)
}

// Most is the standing of whoever of all subjects has spent most.
func (l *Ledger) Most(limit Limit, now time.Time) Standing {
	most := l.Look(limit, "", now)
	if limit.Scope == Bot {
		return most
	}
	// The window is that of the moment for all: there may be many accounts, and a scrape asks for this.
	start, _ := limit.Per.Window(now, limit.Zone)
	var best *account
	spent := most.Spent()
	for key, at := range l.accounts {
		if key.Limit != limit.Name || key.Unit != limit.Unit() || key.Subject == "" {
			continue
		}
		n := at.reserved
		if at.Start >= start.Unix() {
			n = add(n, at.Used)
		}
		if n > spent {
			best, spent = at, n
		}
	}
	if best == nil {
		return most
	}
	a := *best
	return standing(&a, limit, now)
}

func standing(a *account, limit Limit, now time.Time) Standing {
	a.roll(limit, now)
	_, end := limit.Per.Window(time.Unix(a.Start, 0), limit.Zone)
	return Standing{Limit: limit, Used: a.Used, Reserved: a.reserved, End: end}
}

// Reserve takes an amount out of what a subject may still spend; the caller has seen that it is left. It gives the account's
// key, for Settle and for the store.
func (l *Ledger) Reserve(limit Limit, subject string, amount int64, now time.Time) Key {
	key := l.keyOf(limit, subject)
	a := l.account(key)
	a.roll(limit, now)
	a.reserved = add(a.reserved, max(0, amount))
	return key
}

// Settle gives back what was reserved and counts what was used, in the window of the moment.
func (l *Ledger) Settle(key Key, limit Limit, reserved, used int64, now time.Time) {
	a := l.account(key)
	a.roll(limit, now)
	a.reserved = max(0, a.reserved-max(0, reserved))
	a.Used = add(a.Used, max(0, used))
}

// Stored is what is to be stored of an account: with what calls that go on may still take, so that a process that is killed
// forgets nothing.
func (l *Ledger) Stored(key Key) Account {
	a := l.account(key)
	return Account{Start: a.Start, Used: add(a.Used, a.reserved)}
}

// Sweep drops the accounts whose window is over and that no call uses, and those of limits that are gone, and gives their
// keys, sorted by nothing.
func (l *Ledger) Sweep(limits []Limit, now time.Time) []Key {
	var out []Key
	for key, a := range l.accounts {
		i := slices.IndexFunc(limits, func(limit Limit) bool { return limit.Name == key.Limit && limit.Unit() == key.Unit })
		if a.reserved > 0 || i >= 0 && !limits[i].over(a.Start, now) {
			continue
		}
		delete(l.accounts, key)
		if key.Subject != "" {
			l.subjects[Key{Limit: key.Limit, Unit: key.Unit}]--
		}
		out = append(out, key)
	}
	return out
}

func (l Limit) over(start int64, now time.Time) bool {
	current, _ := l.Per.Window(now, l.Zone)
	return start < current.Unix()
}

// add adds two amounts that are not negative and stays at the largest number.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

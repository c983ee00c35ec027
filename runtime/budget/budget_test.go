// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func zone(t interface{ Fatal(args ...any) }, name string) *time.Location {
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		per        Period
		zone, at   string
		start, end string
	}{
		{Hour, "", "2026-05-01T10:59:59Z", "2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"},
		{Hour, "", "2026-05-01T11:00:00Z", "2026-05-01T11:00:00Z", "2026-05-01T12:00:00Z"},
		{Hour, "Asia/Kolkata", "2026-05-01T10:15:00Z", "2026-05-01T09:30:00Z", "2026-05-01T10:30:00Z"},
		{Hour, "", "1969-12-31T23:30:00Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
		{Day, "Asia/Shanghai", "2026-05-01T15:59:59Z", "2026-04-30T16:00:00Z", "2026-05-01T16:00:00Z"},
		{Day, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},     // 23 hours
		{Day, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},     // 25 hours
		{Day, "America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // no midnight
		{Month, "", "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{Month, "", "2028-02-29T23:59:59Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{Month, "Europe/Berlin", "2026-12-31T23:30:00Z", "2026-12-31T23:00:00Z", "2027-01-31T23:00:00Z"},
	} {
		at, _ := time.Parse(time.RFC3339, c.at)
		start, end := c.per.Window(at, zone(t, c.zone))
		if got := [2]string{start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)}; got != [2]string{c.start, c.end} {
			t.Errorf("%s %s %s: %v", c.per, c.zone, c.at, got)
		}
	}
}

// TestWindowsTile: every moment is in one window, and the next begins where it ends, in zones with every kind of oddity.
func TestWindowsTile(t *testing.T) {
	t.Parallel()
	zones := []string{"", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "America/Havana", "Africa/Cairo", "Pacific/Kiritimati"}
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		per := rapid.SampledFrom([]Period{Hour, Day, Month}).Draw(t, "per")
		at := time.Unix(rapid.Int64Range(-2_000_000_000, 4_000_000_000).Draw(t, "at"), 0)
		start, end := per.Window(at, z)
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%s is not in %s to %s", at.In(z), start, end)
		}
		if length := end.Sub(start); length < 30*time.Minute || length > 32*24*time.Hour {
			t.Fatalf("a window of %s", length)
		}
		if s, e := per.Window(end.Add(-1), z); per != Hour && (!s.Equal(start) || !e.Equal(end)) {
			t.Fatalf("%s: the last moment is in %s to %s, not in %s to %s", at.In(z), s, e, start, end)
		}
		if next, _ := per.Window(end, z); per != Hour && !next.Equal(end) {
			t.Fatalf("%s: the next window begins at %s, not at %s", at.In(z), next, end)
		}
	})
}

func day(amount int64) Limit {
	return Limit{Name: "day", Scope: Bot, Per: Day, Zone: time.UTC, Amount: amount}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestLedger(t *testing.T) {
	t.Parallel()
	l, limit := NewLedger(), day(100)
	key := l.Reserve(limit, "", 60, noon)
	if s := l.Look(limit, "", noon); s.Left() != 40 || s.Percent() != 60 || s.End != noon.Add(12*time.Hour) {
		t.Errorf("%+v", s)
	}
	if got := l.Stored(key); got.Used != 60 {
		t.Errorf("stored %+v, want what may still be taken in it", got)
	}
	l.Settle(key, limit, 60, 10, noon)
	if s := l.Look(limit, "", noon); s.Used != 10 || s.Reserved != 0 {
		t.Errorf("%+v", s)
	}
	// A call that begins before midnight and ends after counts when it ends.
	l.Reserve(limit, "", 50, noon)
	l.Settle(key, limit, 50, 30, noon.Add(13*time.Hour))
	if s := l.Look(limit, "", noon.Add(13*time.Hour)); s.Used != 30 || s.Reserved != 0 {
		t.Errorf("after midnight %+v", s)
	}
	// A clock that goes back gives nothing again, and one that goes on does.
	if s := l.Look(limit, "", noon); s.Used != 30 {
		t.Errorf("with the clock back %+v", s)
	}
	if s := l.Look(limit, "", noon.Add(40*time.Hour)); s.Used != 0 {
		t.Errorf("the day after %+v", s)
	}
	// Restored is the later window, and the higher use of the same.
	fresh := NewLedger()
	fresh.Reserve(limit, "", 0, noon)
	fresh.Settle(key, limit, 0, 70, noon)
	for _, a := range []Account{{Start: noon.Add(-36 * time.Hour).Unix(), Used: 99}, {Start: noon.Add(-12 * time.Hour).Unix(), Used: 40}, {Start: noon.Add(-12 * time.Hour).Unix(), Used: 80}} {
		fresh.Restore(key, a)
	}
	if s := fresh.Look(limit, "", noon); s.Used != 80 {
		t.Errorf("restored %+v", s)
	}
	if gone := fresh.Sweep([]Limit{limit}, noon); len(gone) != 0 {
		t.Errorf("swept %v", gone)
	}
	if gone := fresh.Sweep([]Limit{limit}, noon.Add(24*time.Hour)); len(gone) != 1 {
		t.Errorf("swept %v", gone)
	}
	if s := l.Look(day(0), "", noon.Add(40*time.Hour)); s.Left() != 0 || s.Percent() != 100 {
		t.Errorf("a limit of nothing: %+v", s)
	}
	if s := (Standing{Limit: day(100), Used: math.MaxInt64, Reserved: math.MaxInt64}); s.Left() != 0 || s.Spent() != math.MaxInt64 {
		t.Errorf("%+v", s)
	}
}

// TestSubjectsAreBounded: whoever makes up names shares one account with the others.
func TestSubjectsAreBounded(t *testing.T) {
	t.Parallel()
	l, limit := NewLedger(), day(10)
	limit.Scope = User
	for i := range MaxSubjects + 500 {
		key := l.Reserve(limit, fmt.Sprint("user", i), 1, noon)
		l.Settle(key, limit, 1, 1, noon)
	}
	if s := l.Look(limit, "one more", noon); s.Used != 500 || s.Left() != 0 {
		t.Errorf("the others stand at %+v", s)
	}
	if s := l.Look(limit, "user7", noon); s.Used != 1 {
		t.Errorf("user7 stands at %+v", s)
	}
	if s := l.Most(limit, noon); s.Used != 500 {
		t.Errorf("most is %+v", s)
	}
	if n := len(l.Sweep([]Limit{limit}, noon.Add(24*time.Hour))); n != MaxSubjects+1 {
		t.Errorf("swept %d", n)
	}
	if key := l.Reserve(limit, "one more", 1, noon.Add(24*time.Hour)); key.Subject != "one more" {
		t.Errorf("still %+v", key)
	}
}

// TestNeverOver: calls that reserve what they may take at most, and take no more, never get past the limit, whatever the
// clock does and however often the process is killed. Within one window nothing is ever given back.
func TestNeverOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := day(rapid.Int64Range(0, 1000).Draw(t, "amount"))
		l, now := NewLedger(), noon
		type call struct{ reserved int64 }
		var running []call
		stored := map[Key]Account{}
		spent := map[int64]int64{} // by window
		key := Key{Limit: "day", Unit: "tokens"}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				most := rapid.Int64Range(0, 300).Draw(t, "most")
				if l.Look(limit, "", now).Left() < most {
					continue
				}
				l.Reserve(limit, "", most, now)
				running = append(running, call{most})
			case 2:
				if len(running) == 0 {
					continue
				}
				c := running[0]
				running = running[1:]
				used := rapid.Int64Range(0, c.reserved).Draw(t, "used")
				l.Settle(key, limit, c.reserved, used, now)
				spent[l.Stored(key).Start] += used
			case 3:
				now = now.Add(time.Duration(rapid.Int64Range(-30, 30).Draw(t, "hours")) * time.Hour)
			case 4: // killed: what went on is lost, what was stored is not
				l = NewLedger()
				for k, a := range stored {
					l.Restore(k, a)
				}
				running = nil
			}
			stored[key] = l.Stored(key)
			for window, n := range spent {
				if n > limit.Amount {
					t.Fatalf("%d of %d were spent in the window %d", n, limit.Amount, window)
				}
			}
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	good := kernelconfig.Budget{Name: "b", Per: "Day", Tokens: n(5)}
	with := func(change func(*kernelconfig.Budget)) kernelconfig.Budget {
		b := good
		change(&b)
		return b
	}
	model := &kernelconfig.Model{Provider: "p", ID: "m"}
	limits, err := Read([]kernelconfig.Budget{good, {
		Name: "money", Scope: "User", Per: "Month", TimeZone: "Asia/Tokyo", Amount: "1.5", Currency: "EUR",
		Steps: []kernelconfig.BudgetStep{{Action: "Warn", AtPercent: 80}, {Action: "SwitchModel", AtPercent: 50, Model: model}, {Action: "ReadOnlyTools", AtPercent: 100}},
	}})
	if err != nil || len(limits) != 2 || limits[0].Unit() != "tokens" || limits[1].Amount != 1_500_000_000 || limits[1].Unit() != "EUR" ||
		limits[1].Steps[0].Action != SwitchModel || limits[1].Zone.String() != "Asia/Tokyo" {
		t.Errorf("%+v, %v", limits, err)
	}
	if got := (Standing{Limit: limits[1], Used: 1_200_000_000}).Steps(); len(got) != 2 {
		t.Errorf("steps at 80 %%: %+v", got)
	}
	for why, b := range map[string]kernelconfig.Budget{
		"[].name: must be given": with(func(b *kernelconfig.Budget) { b.Name = "" }),
		"[b].scope: must be":     with(func(b *kernelconfig.Budget) { b.Scope = "Planet" }),
		"[b].per: must be":       with(func(b *kernelconfig.Budget) { b.Per = "Year" }),
		`[b].timeZone: must be a time zone such as Europe/Berlin, got "Mars/Base"`: with(func(b *kernelconfig.Budget) { b.TimeZone = "Mars/Base" }),
		`got "Local"`:                          with(func(b *kernelconfig.Budget) { b.TimeZone = "Local" }),
		`got "../../etc/passwd"`:               with(func(b *kernelconfig.Budget) { b.TimeZone = "../../etc/passwd" }),
		"[b]: must have either tokens or cost": with(func(b *kernelconfig.Budget) { b.Tokens = nil }),
		"[b].tokens: must be from 0":           with(func(b *kernelconfig.Budget) { b.Tokens = n(-1) }),
		"[b].cost.currency: may not":           with(func(b *kernelconfig.Budget) { b.Currency = "USD" }),
		"[b].cost.currency: must":              with(func(b *kernelconfig.Budget) { b.Tokens, b.Amount = nil, "5" }),
		"[b].cost.amount: must":                with(func(b *kernelconfig.Budget) { b.Tokens, b.Amount, b.Currency = nil, "5.0000000001", "USD" }),
		"[b].steps[Warn].atPercent":            with(func(b *kernelconfig.Budget) { b.Steps = []kernelconfig.BudgetStep{{Action: "Warn"}} }),
		"[b].steps[Shout].action":              with(func(b *kernelconfig.Budget) { b.Steps = []kernelconfig.BudgetStep{{Action: "Shout", AtPercent: 1}} }),
		"[b].steps[SwitchModel].model": with(func(b *kernelconfig.Budget) {
			b.Steps = []kernelconfig.BudgetStep{{Action: "SwitchModel", AtPercent: 1}}
		}),
		"[b].steps[Warn].model": with(func(b *kernelconfig.Budget) {
			b.Steps = []kernelconfig.BudgetStep{{Action: "Warn", AtPercent: 1, Model: model}}
		}),
		"[b].steps[Warn]: listed twice": with(func(b *kernelconfig.Budget) {
			b.Steps = []kernelconfig.BudgetStep{{Action: "Warn", AtPercent: 1}, {Action: "Warn", AtPercent: 2}}
		}),
	} {
		if _, err := Read([]kernelconfig.Budget{b}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("want %q, got %v", why, err)
		}
	}
	if _, err := Read([]kernelconfig.Budget{good, good}); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Error(err)
	}
	if _, err := Read(make([]kernelconfig.Budget, MaxLimits+1)); err == nil || !strings.Contains(err.Error(), "more than 16") {
		t.Error(err)
	}
}

// BenchmarkMost is what a scrape costs of a budget that very many people have.
func BenchmarkMost(b *testing.B) {
	l, limit := NewLedger(), day(1000)
	limit.Scope = User
	for i := range MaxSubjects {
		key := l.Reserve(limit, fmt.Sprint("user", i), 1, noon)
		l.Settle(key, limit, 1, int64(i%900), noon)
	}
	for b.Loop() {
		if l.Most(limit, noon).Used != 899 {
			b.Fatal("not the most")
		}
	}
}

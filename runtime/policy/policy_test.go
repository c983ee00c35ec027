// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	boss  = policy.Identity{Platform: "onebot", UserID: "1"}
	two   = policy.Identity{Platform: "onebot", UserID: "2"}
	gone  = policy.Identity{Platform: "onebot", UserID: "bad"}
	guest = policy.Identity{Platform: "onebot", UserID: "9"}
	nemo  = policy.Identity{Platform: "onebot"}

	dangerous = access.Policy{Risk: access.Dangerous}
	sensitive = access.Policy{Risk: access.Sensitive}
	always    = access.Policy{Confirm: access.ConfirmAlways}
)

func house() *kernelconfig.Authority {
	return &kernelconfig.Authority{
		Owners:             []policy.Identity{boss},
		Levels:             []kernelconfig.IdentityLevel{{Identity: two, Level: 2}, {Identity: gone, Level: -1}},
		DeniedCapabilities: []string{"tool:exec*"},
		AuthorityOverrides: map[string]int32{"tool:open": -5, "tool:shut": 9},
		ConfirmOverrides:   map[string]string{"tool:asked": "always", "tool:free": "off", "tool:odd": "sometimes"},
	}
}

// TestDecide is case 8.6.12 and section 3.9, as far as they are rules.
func TestDecide(t *testing.T) {
	locked := house()
	locked.Lock = []string{kernelconfig.LockLevels, kernelconfig.LockAutoConfirm}
	approved := house()
	approved.PreApproved = []kernelconfig.PreApproval{{Allow: []string{"*"}}}
	limited := house()
	limited.PreApproved = []kernelconfig.PreApproval{{Allow: []string{"tool:*"}, DurationSeconds: 60}}
	both := house()
	both.PreApproved = []kernelconfig.PreApproval{{Allow: []string{"*"}}, {Allow: []string{"command:*"}}}
	open := house()
	open.Disabled = true
	forever := house()
	forever.AutoConfirmUntil = kernelconfig.AutoConfirmForever
	off, later := int64(0), now.Add(time.Minute).UnixMilli()
	raised := map[policy.Identity]int64{guest: 1 << 40, gone: 5, boss: -3}

	for name, tc := range map[string]struct {
		a    *kernelconfig.Authority
		q    policy.Query
		want policy.Outcome
		rule policy.Rule
	}{
		"guest runs what is public":                {house(), policy.Query{Identity: guest, Capability: "tool:x"}, policy.Allow, policy.RuleVisibility},
		"nobody runs what is public":               {house(), policy.Query{Identity: nemo, Capability: "tool:x"}, policy.Allow, policy.RuleVisibility},
		"no policy, public":                        {nil, policy.Query{Identity: guest, Capability: "tool:x"}, policy.Allow, policy.RuleVisibility},
		"no policy, sensitive":                     {nil, policy.Query{Identity: boss, Capability: "tool:x", Policy: sensitive}, policy.Deny, policy.RuleRisk},
		"banned fails the public":                  {house(), policy.Query{Identity: gone, Capability: "tool:x"}, policy.Deny, policy.RuleVisibility},
		"banned fails the safe":                    {house(), policy.Query{Identity: gone, Capability: "tool:x", Policy: access.Policy{Risk: access.Safe}}, policy.Deny, policy.RuleRisk},
		"banned passes what asks for less":         {house(), policy.Query{Identity: gone, Capability: "tool:open"}, policy.Allow, policy.RuleOverride},
		"denied to owners":                         {house(), policy.Query{Identity: boss, Capability: "tool:exec_shell"}, policy.Deny, policy.RuleDenied},
		"denied although approved":                 {approved, policy.Query{Identity: boss, Capability: "tool:exec"}, policy.Deny, policy.RuleDenied},
		"denied although disabled":                 {open, policy.Query{Identity: boss, Capability: "tool:exec"}, policy.Deny, policy.RuleDenied},
		"disabled lets all":                        {open, policy.Query{Identity: gone, Capability: "tool:x", Policy: dangerous}, policy.Allow, policy.RuleDisabled},
		"owner beats an override":                  {house(), policy.Query{Identity: boss, Capability: "tool:shut"}, policy.Allow, policy.RuleOwner},
		"level two meets an override":              {house(), policy.Query{Identity: two, Capability: "tool:shut"}, policy.Deny, policy.RuleOverride},
		"owner is asked":                           {house(), policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous}, policy.Ask, policy.RuleConfirm},
		"level two is asked":                       {house(), policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous}, policy.Ask, policy.RuleConfirm},
		"guest is not asked for what he may not":   {house(), policy.Query{Identity: guest, Capability: "tool:x", Policy: dangerous}, policy.Deny, policy.RuleRisk},
		"nor from a trusted source":                {house(), policy.Query{Identity: guest, Capability: "tool:x", Policy: dangerous, SkipConfirm: true}, policy.Deny, policy.RuleRisk},
		"approval does not authorise":              {approved, policy.Query{Identity: guest, Capability: "tool:x", Policy: dangerous}, policy.Deny, policy.RuleRisk},
		"approval does not rescue the banned":      {approved, policy.Query{Identity: gone, Capability: "tool:x"}, policy.Deny, policy.RuleVisibility},
		"approval spares the question":             {approved, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous}, policy.Allow, policy.RulePreApproved},
		"every list must approve":                  {both, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous}, policy.Ask, policy.RuleConfirm},
		"approval does not reach always":           {approved, policy.Query{Identity: boss, Capability: "tool:x", Policy: always}, policy.Ask, policy.RuleConfirm},
		"limited approval after a start":           {limited, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous}, policy.Ask, policy.RuleConfirm},
		"limited approval in time":                 {limited, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous, State: policy.State{TakenAt: now.Add(-time.Minute)}}, policy.Allow, policy.RulePreApproved},
		"limited approval too late":                {limited, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous, State: policy.State{TakenAt: now.Add(-61 * time.Second)}}, policy.Ask, policy.RuleConfirm},
		"limited approval with a clock put back":   {limited, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous, State: policy.State{TakenAt: now.Add(time.Hour)}}, policy.Ask, policy.RuleConfirm},
		"trusted source is not asked":              {house(), policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous, SkipConfirm: true}, policy.Allow, policy.RuleTrustedSource},
		"trusted source is asked always":           {house(), policy.Query{Identity: boss, Capability: "tool:x", Policy: always, SkipConfirm: true}, policy.Ask, policy.RuleConfirm},
		"auto spares owners":                       {forever, policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous}, policy.Allow, policy.RuleAutoConfirm},
		"auto spares nobody else":                  {forever, policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous}, policy.Ask, policy.RuleConfirm},
		"auto never spares always":                 {forever, policy.Query{Identity: boss, Capability: "tool:asked"}, policy.Ask, policy.RuleConfirmOverride},
		"auto switched off in chat":                {forever, policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous, State: policy.State{AutoConfirm: &off}}, policy.Ask, policy.RuleConfirm},
		"auto switched on in chat":                 {house(), policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous, State: policy.State{AutoConfirm: &later}}, policy.Allow, policy.RuleAutoConfirm},
		"auto locked":                              {locked, policy.Query{Identity: boss, Capability: "tool:x", Policy: dangerous, State: policy.State{AutoConfirm: &later}}, policy.Ask, policy.RuleConfirm},
		"a grant spares the question":              {house(), policy.Query{Identity: two, Capability: "tool:x", Policy: dangerous, State: policy.State{Granted: true}}, policy.Allow, policy.RuleGrant},
		"a grant never spares always":              {house(), policy.Query{Identity: two, Capability: "tool:x", Policy: always, State: policy.State{Granted: true}}, policy.Ask, policy.RuleConfirm},
		"a grant does not authorise":               {house(), policy.Query{Identity: guest, Capability: "tool:x", Policy: dangerous, State: policy.State{Granted: true}}, policy.Deny, policy.RuleRisk},
		"confirmation overridden to off":           {house(), policy.Query{Identity: two, Capability: "tool:free", Policy: dangerous}, policy.Allow, policy.RuleRisk},
		"an unknown override asks every time":      {house(), policy.Query{Identity: boss, Capability: "tool:odd", SkipConfirm: true}, policy.Ask, policy.RuleConfirmOverride},
		"a level given in chat":                    {house(), policy.Query{Identity: guest, Capability: "tool:shut", State: policy.State{Levels: raised}}, policy.Allow, policy.RuleOverride},
		"a level given in chat, levels locked":     {locked, policy.Query{Identity: guest, Capability: "tool:shut", State: policy.State{Levels: raised}}, policy.Deny, policy.RuleOverride},
		"a declared ban is not lifted in chat":     {house(), policy.Query{Identity: gone, Capability: "tool:x", State: policy.State{Levels: raised}}, policy.Deny, policy.RuleVisibility},
		"an owner is not banned in chat":           {house(), policy.Query{Identity: boss, Capability: "tool:x", State: policy.State{Levels: raised}}, policy.Allow, policy.RuleOwner},
		"not loaded, public":                       {house(), policy.Query{Identity: guest, Capability: "tool:x", State: policy.State{NotLoaded: true}}, policy.Allow, policy.RuleVisibility},
		"not loaded, banned":                       {house(), policy.Query{Identity: gone, Capability: "tool:x", State: policy.State{NotLoaded: true}}, policy.Deny, policy.RuleVisibility},
		"not loaded, owner and sensitive":          {house(), policy.Query{Identity: boss, Capability: "tool:x", Policy: sensitive, State: policy.State{NotLoaded: true}}, policy.Deny, policy.RuleNotLoaded},
		"not loaded, public made to ask":           {house(), policy.Query{Identity: boss, Capability: "tool:asked", State: policy.State{NotLoaded: true}}, policy.Deny, policy.RuleNotLoaded},
		"not loaded, restricted overridden to 0":   {house(), policy.Query{Identity: guest, Capability: "tool:open", Policy: access.Policy{Visibility: access.Restricted}, State: policy.State{NotLoaded: true}}, policy.Deny, policy.RuleNotLoaded},
		"the same user id on another platform":     {house(), policy.Query{Identity: policy.Identity{Platform: "openai", UserID: "1"}, Capability: "tool:x", Policy: sensitive}, policy.Deny, policy.RuleRisk},
		"the console of a pod is nobody":           {house(), policy.Query{Identity: policy.Identity{Platform: "webui", UserID: "console"}, Capability: "tool:x", Policy: sensitive}, policy.Deny, policy.RuleRisk},
		"risk shadows visibility":                  {house(), policy.Query{Identity: guest, Capability: "tool:x", Policy: access.Policy{Visibility: access.Restricted, Risk: access.Safe}}, policy.Allow, policy.RuleRisk},
		"public and confirmed":                     {house(), policy.Query{Identity: guest, Capability: "tool:x", Policy: access.Policy{Confirm: access.ConfirmSession}}, policy.Ask, policy.RuleConfirm},
		"an id that would be another with a colon": {house(), policy.Query{Identity: policy.Identity{Platform: "onebot:1", UserID: ""}, Capability: "tool:x", Policy: sensitive}, policy.Deny, policy.RuleRisk},
	} {
		tc.q.Now = now
		if d := policy.New(tc.a).Decide(tc.q); d.Outcome != tc.want || d.Rule != tc.rule {
			t.Errorf("%s: got %s by %s, want %s by %s", name, d.Outcome, d.Rule, tc.want, tc.rule)
		}
	}
}

func TestConsoleOwner(t *testing.T) {
	r := policy.New(nil, policy.ConsoleOwner())
	for id, want := range map[policy.Identity]bool{
		{Platform: "cli", UserID: "console"}: true, {Platform: "webui", UserID: "console"}: true,
		{Platform: "openai", UserID: "console"}: false, {Platform: "cli", UserID: "me"}: false, {Platform: "cli"}: false,
	} {
		if r.IsOwner(id) != want {
			t.Errorf("%+v: got %t", id, !want)
		}
	}
}

func TestAutoConfirmActive(t *testing.T) {
	for until, want := range map[int64]bool{
		-1: true, 0: false, -2: false, 1: false, now.UnixMilli(): false, now.UnixMilli() + 1: true,
	} {
		if policy.AutoConfirmActive(until, now) != want {
			t.Errorf("%d: got %t", until, !want)
		}
	}
}

var (
	anIdentity = rapid.Custom(func(t *rapid.T) policy.Identity {
		return policy.Identity{Platform: rapid.SampledFrom([]string{"a", "b", "cli"}).Draw(t, "platform"),
			UserID: rapid.SampledFrom([]string{"", "1", "2", "console", "a:1"}).Draw(t, "user")}
	})
	aCapability = rapid.SampledFrom([]string{"tool:a", "tool:ab", "command:a", "tool:exec_x"})
	aPattern    = rapid.SampledFrom([]string{"*", "tool:*", "tool:a", "*a", "tool:*b", "command:b", "", "**x"})
	aDeclared   = rapid.Custom(func(t *rapid.T) access.Policy {
		return access.Policy{
			Visibility: rapid.SampledFrom([]access.Visibility{"", access.Public, access.Restricted}).Draw(t, "visibility"),
			Risk:       rapid.SampledFrom([]access.Risk{"", access.Safe, access.Sensitive, access.Dangerous}).Draw(t, "risk"),
			Confirm:    rapid.SampledFrom([]access.Confirm{"", access.ConfirmSession, access.ConfirmAlways}).Draw(t, "confirm"),
		}
	})
	anAuthority = rapid.Custom(func(t *rapid.T) kernelconfig.Authority {
		a := kernelconfig.Authority{
			Owners:             rapid.SliceOfN(anIdentity, 0, 2).Draw(t, "owners"),
			DeniedCapabilities: rapid.SliceOfN(aPattern, 0, 2).Draw(t, "denied"),
			AuthorityOverrides: rapid.MapOfN(aCapability, rapid.Int32Range(-2, 4), 0, 2).Draw(t, "minimum"),
			ConfirmOverrides:   rapid.MapOfN(aCapability, rapid.SampledFrom([]string{"off", "session", "always"}), 0, 2).Draw(t, "confirm"),
			AutoConfirmUntil:   rapid.SampledFrom([]int64{0, -1, now.UnixMilli() + 1}).Draw(t, "auto"),
			Lock:               rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"levels", "autoConfirm"}), 0, 2, rapid.ID[string]).Draw(t, "lock"),
		}
		for _, id := range rapid.SliceOfNDistinct(anIdentity, 0, 3, rapid.ID[policy.Identity]).Draw(t, "levels") {
			a.Levels = append(a.Levels, kernelconfig.IdentityLevel{Identity: id, Level: rapid.Int32Range(-2, 4).Draw(t, "level")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "approvals") {
			a.PreApproved = append(a.PreApproved, kernelconfig.PreApproval{Allow: rapid.SliceOfN(aPattern, 0, 2).Draw(t, "allow")})
		}
		return a
	})
	aQuery = rapid.Custom(func(t *rapid.T) policy.Query {
		return policy.Query{
			Identity: anIdentity.Draw(t, "identity"), Capability: aCapability.Draw(t, "capability"), Policy: aDeclared.Draw(t, "declared"),
			SkipConfirm: rapid.Bool().Draw(t, "skip"), Now: now,
			State: policy.State{
				NotLoaded: rapid.Bool().Draw(t, "not loaded"), Granted: rapid.Bool().Draw(t, "granted"),
				Levels: rapid.MapOfN(anIdentity, rapid.Int64Range(-2, 4), 0, 3).Draw(t, "chat"),
			},
		}
	})
)

func strength(o policy.Outcome) int {
	return map[policy.Outcome]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}[o]
}

// TestTighteningNeverLoosens: a denial more, a higher minimum, a lower level, a stricter declaration, state that is not
// loaded, or one list more of what is approved never allows what was not allowed before.
func TestTighteningNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, q := anAuthority.Draw(t, "authority"), aQuery.Draw(t, "query")
		was := policy.New(&a).Decide(q)
		tighter, asked := a, q
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			tighter.DeniedCapabilities = append([]string{aPattern.Draw(t, "denial")}, a.DeniedCapabilities...)
		case 1:
			tighter.AuthorityOverrides = map[string]int32{q.Capability: int32(min(was.MinLevel+rapid.Int64Range(0, 3).Draw(t, "more"), 100))}
		case 2:
			asked.State.Levels = nil
			tighter.Levels = []kernelconfig.IdentityLevel{{Identity: q.Identity, Level: int32(was.Standing.Level - rapid.Int64Range(0, 3).Draw(t, "less"))}}
		case 3:
			asked.Policy = access.Strictest(q.Policy, aDeclared.Draw(t, "further"))
		case 4:
			asked.State.NotLoaded = true
		case 5:
			if len(a.PreApproved) == 0 || len(a.PreApproved[0].Allow) == 0 {
				t.Skip("the first list approves what none did before")
			}
			tighter.PreApproved = append([]kernelconfig.PreApproval{{Allow: []string{aPattern.Draw(t, "allow")}}}, a.PreApproved...)
		}
		if is := policy.New(&tighter).Decide(asked); strength(is.Outcome) < strength(was.Outcome) {
			t.Fatalf("%+v became %+v", was, is)
		}
	})
}

// TestUnauthorisedIsNeverAsked: what is asked about is permitted already, so that a confirmation raises nobody.
func TestUnauthorisedIsNeverAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, q := anAuthority.Draw(t, "authority"), aQuery.Draw(t, "query")
		d := policy.New(&a).Decide(q)
		if d.Outcome != policy.Deny && !d.Standing.Owner && d.Standing.Level < d.MinLevel {
			t.Fatalf("%+v", d)
		}
		if d.Confirm == access.ConfirmAlways && d.Outcome == policy.Allow {
			t.Fatalf("%+v ran without being asked", d)
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("tool:*", "tool:a")
	f.Add("*a*b*", "xaxbx")
	f.Add("a*a", "a")
	f.Add(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 300 || len(text) > 3000 {
			t.Skip("the reference is slow")
		}
		parts := strings.Split(strings.ToValidUTF8(pattern, "?"), "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		text = strings.ToValidUTF8(text, "?")
		want := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(text)
		if got := policy.Pattern(strings.ToValidUTF8(pattern, "?")).Match(text); got != want {
			t.Errorf("%q on %q: got %t", pattern, text, got)
		}
	})
}

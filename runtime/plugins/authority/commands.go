// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// lookLevel is the level from which on people may look at the level of others.
const lookLevel = 1

// maxAutoMinutes bounds /auto: a year. Whoever wants more says on.
const maxAutoMinutes = 525_600

// infinite is how the level of an owner is shown.
const infinite = "∞"

func (a *authority) commands() []commands.Command {
	restricted := access.Policy{Visibility: access.Restricted}
	zh := func(text string) map[string]commands.Texts {
		return map[string]commands.Texts{string(i18n.Chinese): {Description: text}}
	}
	return []commands.Command{
		{
			Declaration: "authority [who:text]", Handler: a.show,
			Description:  "Show your level, or that of somebody, named as platform:userId.",
			Translations: zh("查看自己的等级，或用 平台:用户ID 查看他人"),
			Examples:     []string{"/authority", "/authority onebot:10001"},
		},
		{
			Declaration: "level <who:string> <level:string>", Policy: restricted, Handler: a.setLevelOf,
			Description:  "Give somebody a level; a negative one is a ban. Only for owners.",
			Translations: zh("设置某用户的等级，负数为封禁（仅所有者）"),
			Examples:     []string{"/level onebot:10001 2", "/level onebot:10001 -1"},
		},
		{
			Declaration: "auto [state:string]", Policy: restricted, Handler: a.auto,
			Description:  "Switch confirmations of owners off for a number of minutes, or show whether they are. Only for owners.",
			Translations: zh("所有者自动确认：查看状态，或设置分钟数 / on / off（仅所有者）"),
			Examples:     []string{"/auto", "/auto 30", "/auto off"},
		},
	}
}

// parseTarget reads platform:userId. Only the first colon parts the two, since user ids may hold more.
func parseTarget(text string) (policy.Identity, bool) {
	platform, user, ok := strings.Cut(text, ":")
	ok = ok && platform != "" && user != "" && len(platform) <= maxPlatform && len(user) <= maxUser
	return policy.Identity{Platform: platform, UserID: user}, ok
}

func (a *authority) show(_ context.Context, call commands.Call) (string, error) {
	lang := i18n.Of(a.k)
	id := policy.Identity{Platform: call.Platform, UserID: call.UserID}
	if who, ok := call.Args["who"].(string); ok {
		target, fits := parseTarget(strings.TrimSpace(who))
		if !fits {
			return i18n.AuthorityTarget().In(lang), nil
		}
		if target != id && !access.Reaches(a.k, call.Platform, call.UserID, lookLevel) {
			return i18n.AuthorityOthers(lookLevel).In(lang), nil
		}
		id = target
	}
	s := a.standing(id)
	return i18n.AuthorityShown(name(id), shownLevel(s), source(s).In(lang)).In(lang), nil
}

func name(id policy.Identity) string {
	return i18n.Cut(id.Platform+":"+id.UserID, auditText)
}

func shownLevel(s policy.Standing) string {
	if s.Owner {
		return infinite
	}
	return strconv.FormatInt(s.Level, 10)
}

func source(s policy.Standing) i18n.Message {
	switch s.Source {
	case policy.SourceOwner:
		return i18n.AuthorityOwner()
	case policy.SourceChat:
		return i18n.AuthoritySourceChat()
	case policy.SourceDeclared:
		return i18n.AuthoritySourceDeclared()
	default:
		return i18n.AuthoritySourceDefault()
	}
}

// setLevelOf is /level. It does not tell who is not an owner whom it knows.
func (a *authority) setLevelOf(ctx context.Context, call commands.Call) (string, error) {
	lang := i18n.Of(a.k)
	if !a.IsOwner(call.Platform, call.UserID) {
		return i18n.AuthorityOwnersOnly().In(lang), nil
	}
	who, _ := call.Args["who"].(string)
	value, _ := call.Args["level"].(string)
	id, ok := parseTarget(who)
	if !ok {
		return i18n.AuthorityTarget().In(lang), nil
	}
	level, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return i18n.AuthorityInteger(i18n.Cut(value, auditText)).In(lang), nil //nolint:nilerr // the answer says it
	}
	if m, refused := a.unsettable(id); refused {
		return m.In(lang), nil
	}
	if err := a.setLevel(ctx, id, a.storedForm(id, level)); err != nil {
		a.k.Logger().Warn("Could not store a level", "error", err)
		return i18n.AuthorityNotStored().In(lang), nil
	}
	return i18n.AuthoritySet(name(id), level).In(lang), nil
}

// storedForm is what is stored for a level: nothing for level 0 of somebody who has it anyway.
func (a *authority) storedForm(id policy.Identity, level int64) *int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if level == 0 && a.rules.Standing(id, nil).Level == 0 {
		return nil
	}
	return &level
}

// unsettable says why chat may not set the level of somebody.
func (a *authority) unsettable(id policy.Identity) (i18n.Message, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	declared := a.rules.Standing(id, nil)
	_, has := a.levels[id]
	switch {
	case a.rules.Locked(kernelconfig.LockLevels):
		return i18n.AuthorityLocked(kernelconfig.LockLevels), true
	case declared.Owner:
		return i18n.AuthorityIsOwner(name(id)), true
	case declared.Level < 0:
		return i18n.AuthorityIsBanned(name(id)), true
	case !has && len(a.levels) >= maxLevels:
		return i18n.AuthorityFull(maxLevels), true
	}
	return i18n.Message{}, false
}

// auto is /auto.
func (a *authority) auto(ctx context.Context, call commands.Call) (string, error) {
	lang := i18n.Of(a.k)
	if !a.IsOwner(call.Platform, call.UserID) {
		return i18n.AuthorityOwnersOnly().In(lang), nil
	}
	text, given := call.Args["state"].(string)
	if !given {
		return a.autoState().In(lang), nil
	}
	until, ok := a.parseAuto(strings.ToLower(text))
	if !ok {
		return i18n.AutoUsage().In(lang), nil
	}
	if a.locked(kernelconfig.LockAutoConfirm) {
		return i18n.AuthorityLocked(kernelconfig.LockAutoConfirm).In(lang), nil
	}
	if err := a.setAuto(ctx, until); err != nil {
		a.k.Logger().Warn("Could not store the automatic confirmation", "error", err)
		return i18n.AuthorityNotStored().In(lang), nil
	}
	return a.autoState().In(lang), nil
}

func (a *authority) locked(part string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.rules.Locked(part)
}

// parseAuto reads on, off or a number of minutes as a moment.
func (a *authority) parseAuto(text string) (until int64, ok bool) {
	switch text {
	case "on":
		return kernelconfig.AutoConfirmForever, true
	case "off", "0":
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxAutoMinutes {
		return 0, false
	}
	return a.k.Now().Add(time.Duration(n) * time.Minute).UnixMilli(), true
}

func (a *authority) autoState() i18n.Message {
	a.mu.RLock()
	until := a.rules.AutoConfirm(a.autoConfirm)
	a.mu.RUnlock()
	now := a.k.Now()
	switch {
	case until == kernelconfig.AutoConfirmForever:
		return i18n.AutoForever()
	case !policy.AutoConfirmActive(until, now):
		return i18n.AutoOff()
	}
	return i18n.AutoMinutes(int64(math.Ceil(float64(until-now.UnixMilli()) / float64(time.Minute/time.Millisecond))))
}

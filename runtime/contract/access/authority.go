// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Service is the key of the service authority.
var Service = kernel.NewService[Authority]("authority")

// Setting is the top-level config key of the merged policy of the bot. Absent means that nobody is more than a guest.
var Setting = kernel.NewSetting[kernelconfig.Authority]("authority")

// ConsoleSetting is the top-level config key that makes whoever sits at the local console an owner. Only a host on
// somebody's own machine sets it.
var ConsoleSetting = kernel.NewSetting[bool]("consoleOwner")

// Authority knows what people may do. Operations whose limits depend on more than their declaration ask it; where there
// is none, they must refuse.
type Authority interface {
	// IsOwner tells whether somebody is an owner of the bot. Nobody is without a user id.
	IsOwner(platform, userID string) bool
	// Level of somebody who is not an owner: 0 for who is not known, negative for who is banned.
	Level(platform, userID string) int
	// SetConfirmHandler says who asks people of a platform for confirmation; the platform "*" is for those that have no
	// handler of their own. A later handler replaces an earlier one. Where there is none, what needs confirmation is
	// refused.
	SetConfirmHandler(platform string, h ConfirmHandler) (off func())
}

// ConfirmRequest asks a person to confirm an operation that they may run.
type ConfirmRequest struct {
	Request
	// Confirm is how strictly: only with ConfirmSession may the answer hold for longer than this once.
	Confirm Confirm
}

// ConfirmAnswer is what the person said. Its zero value refuses.
type ConfirmAnswer struct {
	Allowed bool
	// ForSession is how long the same person need not be asked again for this operation in this session; 0 is this once.
	// It is clamped to 1 s up to 1 h, and without effect where every use must be confirmed.
	ForSession time.Duration
	// MaxUses that ForSession is good for; 0 is any number.
	MaxUses int
}

// ConfirmHandler asks and waits for the answer, at most until ctx ends. An error refuses.
type ConfirmHandler func(ctx context.Context, r ConfirmRequest) (ConfirmAnswer, error)

// Audit is one decision that is of interest to whoever looks after the bot: all that deny or ask, and those that allow
// something of risk. It never holds what was said, nor the arguments of the operation.
type Audit struct {
	// Kind of the operation: tool, command, action or network.
	Kind string
	// Capability is kind:name.
	Capability string
	// Outcome is allow, confirm or deny, or what became of a confirmation: confirmed, cancelled.
	Outcome string
	// Rule that decided, of a closed set.
	Rule string
	// Platform, UserID and SessionID of whoever asked.
	Platform, UserID, SessionID string
	// Level of the person, and whether it is an owner.
	Level int64
	Owner bool
	// MinLevel that the operation asks for.
	MinLevel int64
	// Detail says more in a few words, such as the pattern of a denial or the address that was refused.
	Detail string
}

// Decided is the event of Audit.
var Decided = kernel.NewEvent[Audit]("authority:decision")

// Reaches tells whether somebody is an owner or has at least a level. It is false for everybody without an Authority.
func Reaches(k *kernel.Context, platform, userID string, level int) bool {
	a, ok := Service.Get(k)
	return ok && (a.IsOwner(platform, userID) || a.Level(platform, userID) >= level)
}

// RuleNoGuard is the rule of an Audit about what was refused because nobody decides.
const RuleNoGuard = "noGuard"

// Unguarded makes what records the refusals of a registry that has no guard: in the log, and as the event Decided.
func Unguarded(k *kernel.Context) func(ctx context.Context, r Request) {
	return func(ctx context.Context, r Request) {
		kind, _, _ := strings.Cut(r.Capability, ":")
		k.Logger().Warn("Refused what needs a permission check, since none is running", "capability", r.Capability,
			"platform", r.Platform, "userId", r.UserID, "sessionId", r.SessionID)
		Decided.Emit(ctx, k, Audit{
			Kind: kind, Capability: r.Capability, Outcome: "deny", Rule: RuleNoGuard, Platform: r.Platform, UserID: r.UserID,
			SessionID: r.SessionID, MinLevel: int64(r.Policy.MinLevel()),
		})
	}
}

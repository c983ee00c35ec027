// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import "time"

// The formulas of flow control, each by itself and pure. They are those of the behaviour's section 8.4.

// negligible is a score that counts as none.
const negligible = 0.001

// backoffLimit is the most by which the idle time grows.
const backoffLimit = 64

// minIdle is the shortest idle time.
const minIdle = time.Minute

// decayed is what silence since the last message leaves of a score. A clock that was put back leaves it as it is.
func decayed(score float64, silence time.Duration, decayMinutes float64) float64 {
	if decayMinutes <= 0 || score <= 0 || silence <= 0 {
		return max(score, 0)
	}
	score *= max(0, 1-silence.Minutes()/decayMinutes)
	if score < negligible {
		return 0
	}
	return score
}

// increment is what a message adds to the score. Who has said more, this message included, counts for more, up to one and a
// half times; nobody in particular counts once (count 0).
func increment(fixedInterval, count int) float64 {
	weight := 1 + 0.5*min(float64(count)/10, 1)
	return weight / float64(max(1, fixedInterval))
}

// threshold is the score that triggers the bot, so long after it was last triggered. It falls from upper to lower over the
// decay; a bot that was never triggered has the lower one.
func threshold(lower, upper float64, ever bool, since time.Duration, decayMinutes float64) float64 {
	if !ever || (decayMinutes <= 0 && since > 0) {
		return lower
	}
	if decayMinutes <= 0 {
		return upper
	}
	return lower + (upper-lower)*min(1, max(0, 1-since.Minutes()/decayMinutes))
}

// idleDelay is the time of quiet after which the bot begins to talk. Jitter is from -1 to 1.
func idleDelay(c Config, backoff, jitter float64) time.Duration {
	wait := c.IdleTriggerMinutes
	if c.IdleTriggerStyle == styleExponential {
		wait = min(c.IdleTriggerMinutes*backoff, c.IdleTriggerMaxMinutes)
	}
	if c.IdleTriggerJitter {
		wait += wait * 0.1 * jitter
	}
	return max(time.Duration(wait*float64(time.Minute)), minIdle)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// The bounds of what is shown. A combination of labels beyond its bound counts as "other", which is one more.
const (
	maxOrigins   = 64  // of persona, provider, model and platform
	maxPrices    = 64  // of those and a currency
	maxModels    = 16  // of provider and model, in histograms and errors
	maxTools     = 32  // tools
	maxBudgets   = 16  // budgets
	maxRefusals  = 48  // of budget and reason
	maxDecisions = 64  // of kind, outcome and rule
	maxPlugins   = 128 // plugins
	maxReasons   = 8   // of the plugin state machine
	maxPlatforms = 16  // of turns
	maxBeside    = 3   // series that a histogram has beside its buckets: infinity, sum and count
)

// MaxSeries is the most series of the bot itself that a pod serves, the standard go_* and process_* ones not counted.
const MaxSeries = (maxOrigins+1)*lenTypes*2 + // aalis_tokens_total
	(maxPrices + 1) + // aalis_cost_total
	(maxOrigins+1)*lenOutcomes + // aalis_llm_requests_total
	(maxModels+1)*lenCauses + // aalis_llm_errors_total
	2*(maxModels+1)*(lenCallBuckets+maxBeside) + // durations of calls, and to the first token
	(maxModels+1)*lenVerdicts + // aalis_usage_frames_total
	(maxPlatforms+1)*lenTurns + lenTurns*(lenCallBuckets+maxBeside) + // turns
	2*(maxTools+1) + (maxTools+1)*(lenToolBuckets+maxBeside) + // tools
	lenPhases*(lenPhaseBuckets+maxBeside) + lenPhases + // the gateway
	lenParts + 1 + lenFillBuckets + maxBeside + // the context
	3*maxBudgets + (maxRefusals + 1) + // budgets
	(maxDecisions + 1) + maxPlugins +
	2*(maxReasons+1) + // recomputes
	lenResults + lenResults*(lenApplyBuckets+maxBeside) + 2 + // configs
	1 // build info

// How many values labels have whose values are known beforehand, and how many buckets histograms.
const (
	lenTypes        = 4
	lenOutcomes     = 4
	lenCauses       = 8
	lenVerdicts     = 6
	lenTurns        = 5
	lenPhases       = 6
	lenParts        = 11
	lenResults      = 3
	lenCallBuckets  = 12
	lenToolBuckets  = 6
	lenPhaseBuckets = 8
	lenFillBuckets  = 10
	lenApplyBuckets = 12
)

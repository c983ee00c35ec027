// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attack holds no code: its tests let a model under an attacker's control, and people who are not what they say, loose
// on a running bot, and want each attempt refused and recorded.
package attack

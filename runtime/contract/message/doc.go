// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package message holds the data that platforms, the gateway, the agent, memory and models pass to each other, and
// the events that carry it. It holds no logic but small pure helpers over that data.
package message

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing hands the spans of a bot on to a collector of OpenTelemetry. The host makes a Provider where tracing is switched
// on, and provides its tracer to the kernel. It batches in the background, never makes a conversation wait, and drops spans
// rather than keep many: a collector that is away costs a line in the log now and then, and nothing else.
package tracing

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds no code: its tests check the alerts and dashboards with Prometheus' own tool, and against the metrics
// that the documentation lists.
package monitoring

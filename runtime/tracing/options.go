// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import "github.com/aalis-dev/aalis-operator/runtime/telemetry"

// Options of a Provider.
type Options = telemetry.Options

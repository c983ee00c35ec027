// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"

	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// kindOf names an error by its kind, of which there are few.
func kindOf(err error) string {
	refused, overBudget := errors.AsType[*budget.RefusedError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case overBudget:
		return "budget." + string(refused.Reason)
	case llm.CauseOf(err) != "":
		return string(llm.CauseOf(err))
	default:
		return "error"
	}
}

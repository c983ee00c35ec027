// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"testing"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestFallbackOnIsSortedAndUnique(t *testing.T) {
	t.Parallel()
	p := v1alpha1.ServicePreference{Spec: v1alpha1.ServicePreferenceSpec{
		Service:    llmService,
		FallbackOn: []v1alpha1.FallbackCause{v1alpha1.FallbackUnavailable, v1alpha1.FallbackRateLimited, v1alpha1.FallbackUnavailable},
	}}
	got := (&composer{}).fallbackOn("ServicePreference a", p)
	if !slices.Equal(got, []string{"RateLimited", "Unavailable"}) {
		t.Errorf("got %v", got)
	}
	p.Spec.FallbackOn = nil
	if got := (&composer{}).fallbackOn("ServicePreference a", p); got != nil {
		t.Errorf("got %v", got)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Sources is the point where plugin instances that offer models say how those count.
var Sources = kernel.NewPoint[Source]("tokens")

// Source knows how models count. Its methods may be called concurrently and answer at once.
type Source interface {
	// Counter gives the counter of a model by its id at the provider, or false if it is not known. Equal ids give
	// equal counters as long as the plugin runs, so that a Counter may be part of the key of a cache.
	Counter(modelID string) (Counter, bool)
}

// Contribute makes a source the one for the models of the context's instance.
func Contribute(k *kernel.Context, s Source) error {
	_, err := Sources.Contribute(k, sourceID, s)
	return err
}

// sourceID is the local id of each contribution: an instance has one source.
const sourceID = "models"

// For gives the counter of a model: that of its provider (a plugin instance id), else Estimate.
func For(k *kernel.Context, provider, modelID string) Counter {
	for _, c := range Sources.Collect(k) {
		if owner, ok := strings.CutSuffix(c.Key, "/"+sourceID); !ok || owner != provider {
			continue
		}
		if counter, ok := c.Spec.Counter(modelID); ok {
			return counter
		}
	}
	return Estimate
}

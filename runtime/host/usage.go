// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"net/http"

	"github.com/aalis-dev/aalis-operator/runtime/contract/usage"
)

// serveUsage serves the book of what the bot used, as JSON. It holds names of personas and models and numbers, as the metrics do, and
// nothing of anybody.
func (r *Runner) serveUsage(namespace string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		app := r.current
		r.mu.Unlock()
		if app == nil {
			answer(w, http.StatusServiceUnavailable, "no config runs yet")
			return
		}
		book, ok := usage.Service.Get(app.Root())
		if !ok {
			answer(w, http.StatusNotFound, "the plugin usage does not run in this bot")
			return
		}
		report := book.Report()
		report.Agent, report.Namespace = app.Root().AppName(), namespace
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report)
	}
}

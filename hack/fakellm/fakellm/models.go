// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"net/http"
	"slices"
)

// models answers GET /v1/models.
func (x *exchange) models() {
	if !x.applyFaults(target{api: apiModels, keyHash: x.keyHash}, nil, nil) {
		return
	}
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	ids := unique(slices.Concat(x.s.opts.Models, x.s.opts.EmbeddingModels))
	data := make([]model, 0, len(ids))
	if !x.eff.empty {
		for _, id := range ids {
			data = append(data, model{ID: id, Object: "model", Created: modelsCreated, OwnedBy: "fakellm"})
		}
	}
	x.deliver(map[string]any{"object": "list", "data": data})
}

// writeError answers outside of an exchange.
func writeError(w http.ResponseWriter, e *apiError) {
	e.setHeaders(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body())
}

// writeJSON answers outside of an exchange.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		writeError(w, &apiError{status: http.StatusInternalServerError, kind: typeServer, message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

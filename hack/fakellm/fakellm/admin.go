// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// adminAddFaults answers POST /admin/faults: one fault or an array of them, all or none.
func (s *Server) adminAddFaults(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, bad)
		return
	}
	faults, err := decodeFaults(body)
	if err != nil {
		writeError(w, badRequest("", "bad_fault", "%s", err))
		return
	}
	added, ok := s.faults.add(faults)
	if !ok {
		writeError(w, badRequest("", "too_many_faults", "there may be at most %d faults: delete some first", maxFaults))
		return
	}
	writeJSON(w, http.StatusCreated, map[string]any{"faults": added})
}

func decodeFaults(body []byte) ([]Fault, error) {
	var faults []Fault
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		faults = make([]Fault, 1)
		if err := strictDecode(body, &faults[0]); err != nil {
			return nil, err
		}
	} else if err := strictDecode(body, &faults); err != nil {
		return nil, err
	}
	for i := range faults {
		f, err := faults[i].normalise()
		if err != nil {
			return nil, fmt.Errorf("fault %d: %w", i, err)
		}
		faults[i] = f
	}
	return faults, nil
}

func strictDecode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("reading faults: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading faults: one JSON value is expected, there is more")
	}
	return nil
}

// adminListFaults answers GET /admin/faults.
func (s *Server) adminListFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"faults": s.faults.list()})
}

// adminDeleteFaults answers DELETE /admin/faults, with ?id= for one of them.
func (s *Server) adminDeleteFaults(w http.ResponseWriter, r *http.Request) {
	if id := r.URL.Query().Get("id"); id != "" {
		if !s.faults.remove(id) {
			writeError(w, &apiError{
				status: http.StatusNotFound, kind: typeInvalid, param: "id", code: "fault_not_found",
				message: fmt.Sprintf("there is no fault %q", id),
			})
			return
		}
	} else {
		s.faults.clear()
	}
	w.WriteHeader(http.StatusNoContent)
}

// requestQuery selects ledger entries.
type requestQuery struct {
	api, model, keyHash string
	after               uint64
	limit               int
	noBody              bool
}

func parseRequestQuery(values url.Values) (requestQuery, *apiError) {
	q := requestQuery{api: values.Get("api"), model: values.Get("model"), keyHash: values.Get("keyHash")}
	var err error
	if v := values.Get("after"); v != "" {
		if q.after, err = strconv.ParseUint(v, 10, 64); err != nil {
			return q, badRequest("after", "invalid_value", "after %q is not a request id: a whole number is expected", v)
		}
	}
	if v := values.Get("limit"); v != "" {
		if q.limit, err = strconv.Atoi(v); err != nil || q.limit < 1 {
			return q, badRequest("limit", "invalid_value", "limit %q is not a whole number of at least 1", v)
		}
	}
	if v := values.Get("body"); v != "" {
		with, err := strconv.ParseBool(v)
		if err != nil {
			return q, badRequest("body", "invalid_value", "body %q is not allowed: use true or false", v)
		}
		q.noBody = !with
	}
	return q, nil
}

func (q requestQuery) keep(e *Entry) bool {
	return e.ID > q.after && (q.api == "" || q.api == e.API) && (q.model == "" || q.model == e.Model) &&
		(q.keyHash == "" || q.keyHash == e.KeyHash)
}

// run returns the newest entries that q selects, oldest first.
func (q requestQuery) run(l *ledger) []Entry {
	entries := l.list(q.keep)
	if q.limit > 0 && len(entries) > q.limit {
		entries = entries[len(entries)-q.limit:]
	}
	if q.noBody {
		for i := range entries {
			entries[i].Body = nil
		}
	}
	return entries
}

// adminRequests answers GET /admin/requests.
func (s *Server) adminRequests(w http.ResponseWriter, r *http.Request) {
	q, bad := parseRequestQuery(r.URL.Query())
	if bad != nil {
		writeError(w, bad)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"requests": q.run(s.ledger)})
}

// adminLast answers GET /admin/last: the newest entry, of the chat API unless ?api= says otherwise.
func (s *Server) adminLast(w http.ResponseWriter, r *http.Request) {
	q, bad := parseRequestQuery(r.URL.Query())
	if bad != nil {
		writeError(w, bad)
		return
	}
	if q.api == "" {
		q.api = apiChat
	}
	q.limit = 1
	entries := q.run(s.ledger)
	if len(entries) == 0 {
		writeError(w, &apiError{
			status: http.StatusNotFound, kind: typeInvalid, code: "request_not_found", message: "no such request was made yet",
		})
		return
	}
	writeJSON(w, http.StatusOK, entries[0])
}

// adminUsage answers GET /admin/usage.
func (s *Server) adminUsage(w http.ResponseWriter, _ *http.Request) {
	items := s.ledger.sums()
	type sum struct {
		Requests int `json:"requests"`
		Errors   int `json:"errors"`
		Usage
	}
	var total sum
	for _, t := range items {
		total.Requests += t.Requests
		total.Errors += t.Errors
		total.add(t.Usage)
	}
	writeJSON(w, http.StatusOK, map[string]any{"total": total, "items": items})
}

// adminReset answers DELETE /admin/requests.
func (s *Server) adminReset(w http.ResponseWriter, _ *http.Request) {
	s.ledger.reset()
	w.WriteHeader(http.StatusNoContent)
}

// adminClearCache answers DELETE /admin/cache.
func (s *Server) adminClearCache(w http.ResponseWriter, _ *http.Request) {
	s.prefix.clear()
	w.WriteHeader(http.StatusNoContent)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// apiError is an error in the shape of the protocol.
type apiError struct {
	status  int
	kind    string
	code    string
	param   string
	message string
	// retryAfter in seconds; 0 sends none.
	retryAfter int
}

const (
	kindInvalid = "invalid_request_error"
	kindAuth    = "authentication_error"
	kindLimit   = "rate_limit_error"
	kindServer  = "server_error"
)

func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, kind: kindInvalid, param: param, code: code, message: fmt.Sprintf(format, args...),
	}
}

func unauthorized(message string) *apiError {
	return &apiError{status: http.StatusUnauthorized, kind: kindAuth, code: "invalid_api_key", message: message}
}

var (
	errStopping = &apiError{
		status: http.StatusServiceUnavailable, kind: kindServer, code: "stopping", retryAfter: 2,
		message: "the bot is being stopped or reconfigured: try again in a moment",
	}
	errReplaced = &apiError{
		status: http.StatusConflict, kind: kindInvalid, code: "turn_aborted",
		message: "this turn was aborted, most likely by a newer message of the same session",
	}
	errTimeout = &apiError{
		status: http.StatusGatewayTimeout, kind: kindServer, code: "timeout",
		message: "the bot gave no complete answer in time; the turn was aborted",
	}
	errFailed = &apiError{
		status: http.StatusInternalServerError, kind: kindServer, code: "turn_failed",
		message: "the bot failed to answer; its log says why",
	}
	errInternal = &apiError{
		status: http.StatusInternalServerError, kind: kindServer, code: "internal_error",
		message: "something went wrong inside the bot; its log says what",
	}
)

// body is the JSON form.
func (e *apiError) body() []byte {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	o := object{Message: e.message, Type: e.kind, Code: e.code}
	if e.param != "" {
		o.Param = &e.param
	}
	data, err := json.Marshal(map[string]object{"error": o})
	if err != nil { // cannot happen: texts only
		return []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	return data
}

// write answers a request whose headers have not been sent.
func (e *apiError) write(w http.ResponseWriter) {
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="aalis"`)
	}
	writeJSON(w, e.status, e.body())
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone cannot be told
}

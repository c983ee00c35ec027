// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// apiError is an error answer in OpenAI's shape. Empty param and code are sent as null.
type apiError struct {
	status     int
	message    string
	kind       string
	param      string
	code       string
	retryAfter int // seconds; 0 sends no header
}

// Error returns the message; apiError is used as an error between decoding and writing.
func (e *apiError) Error() string { return e.message }

const (
	typeInvalid   = "invalid_request_error"
	typeRateLimit = "rate_limit_error"
	typeServer    = "server_error"
)

func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, kind: typeInvalid, param: param, code: code, message: fmt.Sprintf(format, args...),
	}
}

// body returns the JSON object {"error":{...}}.
func (e *apiError) body() []byte {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	d := detail{Message: e.message, Type: e.kind, Param: optional(e.param), Code: optional(e.code)}
	// Strings and pointers to strings always encode.
	b, _ := json.Marshal(map[string]detail{"error": d})
	return b
}

func (e *apiError) setHeaders(h http.Header) {
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"
)

type options struct {
	kubeconfig, kubectl, samples, fakeImage, namespace string
	timeout                                            time.Duration
	endpoint                                           endpoint
}

// endpoint is a model provider of the user's own.
type endpoint struct {
	key, baseURL, model string
}

// isSet tells whether the user gave an endpoint.
func (e endpoint) isSet() bool { return e.key != "" }

func endpointFromEnv(get func(string) string) endpoint {
	e := endpoint{key: get("OPENAI_API_KEY"), baseURL: get("OPENAI_BASE_URL"), model: get("OPENAI_MODEL")}
	if e.baseURL == "" {
		e.baseURL = "https://api.openai.com"
	}
	if e.model == "" {
		e.model = "gpt-4o-mini"
	}
	e.baseURL = strings.TrimRight(e.baseURL, "/")
	return e
}

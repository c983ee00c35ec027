// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewer answers reviews the way an API server does: it knows the tokens ann and bob, and lets ann get /metrics.
type reviewer struct {
	client.Client
	err error
}

// Create implements client.Client.
func (r *reviewer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	switch review := obj.(type) {
	case *authenticationv1.TokenReview:
		known := review.Spec.Token == "ann" || review.Spec.Token == "bob"
		review.Status.Authenticated = known
		review.Status.User = authenticationv1.UserInfo{
			Username: review.Spec.Token, Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		}
	case *authorizationv1.SubjectAccessReview:
		s := review.Spec
		review.Status.Allowed = s.User == "ann" && len(s.Groups) == 1 && len(s.Extra["k"]) == 1 &&
			s.NonResourceAttributes.Path == "/metrics" && s.NonResourceAttributes.Verb == "get"
	}
	return r.err
}

func TestAuthorizer(t *testing.T) {
	cases := map[string]struct {
		header, path string
		err          error
		want         int
	}{
		"allowed":            {"Bearer ann", "/metrics", nil, http.StatusOK},
		"not allowed":        {"Bearer bob", "/metrics", nil, http.StatusForbidden},
		"another path":       {"Bearer ann", "/debug", nil, http.StatusForbidden},
		"unknown token":      {"Bearer eve", "/metrics", nil, http.StatusUnauthorized},
		"empty token":        {"Bearer ", "/metrics", nil, http.StatusUnauthorized},
		"no token":           {"", "/metrics", nil, http.StatusUnauthorized},
		"another scheme":     {"Basic ann", "/metrics", nil, http.StatusUnauthorized},
		"API server is away": {"Bearer ann", "/metrics", errors.New("away"), http.StatusInternalServerError},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := &authorizer{
				client: &reviewer{err: c.err}, log: logr.Discard(),
				next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
			if c.header != "" {
				req.Header.Set("Authorization", c.header)
			}
			w := httptest.NewRecorder()
			a.ServeHTTP(w, req)
			if w.Code != c.want {
				t.Errorf("status %d (%s), want %d", w.Code, w.Body, c.want)
			}
		})
	}
}

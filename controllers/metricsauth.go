// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// authorizeTimeout bounds what a scrape waits for the API server.
const authorizeTimeout = 10 * time.Second

// authorizeMetrics lets through who the API server knows by their bearer token and who may get the path. It needs the
// right to create TokenReviews and SubjectAccessReviews (ClusterRole system:auth-delegator). It does with two requests
// what the ready-made filter does with the whole of the API server's authentication libraries in memory.
func authorizeMetrics(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme of the metrics filter: %w", err)
		}
	}
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making the client of the metrics filter: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &authorizer{client: c, log: log, next: next}, nil
	}, nil
}

type authorizer struct {
	client client.Client
	log    logr.Logger
	next   http.Handler
}

// ServeHTTP implements http.Handler.
func (a *authorizer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithTimeout(req.Context(), authorizeTimeout)
	defer cancel()
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		return
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.client.Create(ctx, review); err != nil {
		a.fail(w, err)
		return
	}
	if !review.Status.Authenticated {
		http.Error(w, "the bearer token is not known", http.StatusUnauthorized)
		return
	}
	access := accessReview(review.Status.User, req)
	if err := a.client.Create(ctx, access); err != nil {
		a.fail(w, err)
		return
	}
	if !access.Status.Allowed {
		http.Error(w, "not allowed to get "+req.URL.Path, http.StatusForbidden)
		return
	}
	a.next.ServeHTTP(w, req)
}

func (a *authorizer) fail(w http.ResponseWriter, err error) {
	a.log.Error(err, "Asked the API server who may read metrics in vain")
	http.Error(w, "the API server could not be asked", http.StatusInternalServerError)
}

func accessReview(user authenticationv1.UserInfo, req *http.Request) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: req.URL.Path, Verb: strings.ToLower(req.Method)},
	}}
}

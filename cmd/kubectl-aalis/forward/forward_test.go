// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package forward_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/forward"
)

// TestRefused: a server that forwards nothing gives an error that names the pod, and no goroutine stays. That a tunnel
// carries a conversation is shown on a real cluster.
func TestRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/api/v1/namespaces/team-a/pods/aalis-hello-0/portforward") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		http.Error(w, "pods \"aalis-hello-0\" is forbidden", http.StatusForbidden)
	}))
	defer goleak.VerifyNone(t)
	defer server.Close()
	_, err := forward.Open(t.Context(), &rest.Config{Host: server.URL}, "team-a", "aalis-hello-0", 8080)
	if err == nil || !strings.Contains(err.Error(), "team-a/aalis-hello-0") {
		t.Errorf("want an error that names the pod, got %v", err)
	}
}

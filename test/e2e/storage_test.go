// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// TestConversationSurvivesThePod: with SQLite a bot remembers what was said before its pod was killed.
func TestConversationSurvivesThePod(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	b.more = "  storage: {type: SQLite, size: 64Mi}\n"
	start(ctx, t, b)
	session := "e2e-" + harness.ShortID()
	say := func(ctx context.Context, text string) (string, error) {
		return cluster.Ask(ctx, ns, b.name, session, text, io.Discard)
	}
	_, err := say(ctx, "my cat is called Mittens")
	must(t, err)
	before, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	_, err = cluster.Run(ctx, "", "delete", "pod", "-n", ns, harness.PodName(b.name), "--grace-period=0", "--force")
	must(t, err)
	eventually(ctx, t, "an answer of another pod", 2*time.Minute, func(ctx context.Context) (bool, string) {
		pod, err := cluster.Pod(ctx, ns, b.name)
		if err != nil || pod.UID == before.UID {
			return false, "the pod is not there yet"
		}
		answer, err := say(ctx, "what is my cat called?")
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, "what is my cat called?"), answer
	})
	last, err := cluster.Run(ctx, "", "get", "--raw", "/api/v1/namespaces/"+ns+"/services/fakellm:8080/proxy/admin/last")
	must(t, err)
	if !strings.Contains(last, "my cat is called Mittens") {
		t.Errorf("the model was not told what was said before the pod was killed: %.2000s", last)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// onSecondNode starts a bot on the second node and its model server on the first, or skips the test where there is one
// node only (make cluster NODES=2). It returns the names of both nodes.
func onSecondNode(ctx context.Context, t *testing.T, b botParts) (first, second string) {
	t.Helper()
	var list corev1.NodeList
	must(t, cluster.Client.List(ctx, &list))
	if len(list.Items) < 2 {
		t.Skip("needs two nodes: make cluster NODES=2")
	}
	slices.SortFunc(list.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	first, second = list.Items[0].Name, list.Items[1].Name
	closeNode(ctx, t, second)
	withModel(ctx, t, b.namespace)
	closeNode(ctx, t, first)
	openNode(ctx, t, second)
	start(ctx, t, b)
	openNode(ctx, t, first)
	if got := nodeOf(ctx, t, b); got != second {
		t.Fatalf("the bot is on %s, want %s", got, second)
	}
	ask(ctx, t, b, "who are you?", b.displayName)
	return first, second
}

func closeNode(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() { openNode(context.Background(), t, name) })
	_, err := cluster.Run(ctx, "", "cordon", name)
	must(t, err)
}

func openNode(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	_, err := cluster.Run(ctx, "", "uncordon", name)
	must(t, err)
}

func nodeOf(ctx context.Context, t *testing.T, b botParts) string {
	t.Helper()
	pod, err := cluster.Pod(ctx, b.namespace, b.name)
	must(t, err)
	return pod.Spec.NodeName
}

// untilAnswersOn waits until the bot answers from another node, and returns how long that took.
func untilAnswersOn(ctx context.Context, t *testing.T, b botParts, node string) time.Duration {
	t.Helper()
	begin := time.Now()
	since := func() time.Duration { return time.Since(begin).Round(100 * time.Millisecond) }
	eventually(ctx, t, "a pod on "+node, 2*time.Minute, func(ctx context.Context) (bool, string) {
		pod, err := cluster.Pod(ctx, b.namespace, b.name)
		return err == nil && pod.Spec.NodeName == node && pod.DeletionTimestamp == nil, "it is not there yet"
	})
	t.Logf("its pod was on %s after %s", node, since())
	eventually(ctx, t, "an answer from "+node, 2*time.Minute, func(ctx context.Context) (bool, string) {
		answer, err := cluster.Ask(ctx, b.namespace, b.name, "e2e-"+harness.ShortID(), "who are you?", io.Discard)
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, b.displayName), answer
	})
	answered := since()
	_, err := cluster.Until(ctx, b.namespace, b.name, harness.IsReady)
	must(t, err)
	t.Logf("it was Ready after %s", since())
	return answered
}

// TestDrainMovesABot: a bot leaves a node that is drained and answers from the other, and its status says so only then.
func TestDrainMovesABot(t *testing.T) {
	ctx, ns := newNamespace(t)
	b := newBot(ns, "hello")
	first, second := onSecondNode(ctx, t, b)
	closeNode(ctx, t, second)
	_, err := cluster.Run(ctx, "", "drain", second, "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector=aalis.dev/instance="+b.name, "--timeout=90s")
	must(t, err)
	t.Logf("after the drain it answered from %s in %s", first, untilAnswersOn(ctx, t, b, first))
}

// TestLostNodeMovesABot: with its node's kubelet gone, a bot goes on answering, for its process lives; once somebody
// vouches that the node is out of service, another pod takes its place.
func TestLostNodeMovesABot(t *testing.T) {
	if !bare {
		t.Skip("stops a kubelet: only on the cluster of hack/cluster")
	}
	ctx, ns := newNamespace(t)
	b := newBot(ns, "hello")
	first, second := onSecondNode(ctx, t, b)
	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	component(ctx, t, "stop", "kubelet-2")
	t.Cleanup(func() { component(context.Background(), t, "start", "kubelet-2") })
	_, err = cluster.Run(ctx, "", "wait", "--for=condition=Ready=Unknown", "node/"+second, "--timeout=2m")
	must(t, err)
	// Its NetworkPolicy lets in its own node, whose network is a namespace here.
	there := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dialInside("/run/aalis-cluster/2/network")}}
	askWith(ctx, t, there, "http://"+pod.Status.PodIP+":8080/v1/chat/completions", "still there?")

	const taint = "node.kubernetes.io/out-of-service"
	t.Cleanup(func() {
		if _, err := cluster.Run(context.Background(), "", "taint", "node", second, taint+"-"); err != nil {
			t.Errorf("taking the taint back: %v", err)
		}
	})
	_, err = cluster.Run(ctx, "", "taint", "node", second, taint+"=lost:NoExecute")
	must(t, err)
	t.Logf("after the node was given up it answered from %s in %s", first, untilAnswersOn(ctx, t, b, first))
}

// dialInside dials from a network namespace that a file keeps.
func dialInside(namespace string) func(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		done := make(chan result, 1)
		go func() {
			// The thread is never given back, so that it ends with this function.
			runtime.LockOSThread()
			conn, err := enterAndDial(ctx, namespace, network, address)
			done <- result{conn, err}
		}()
		r := <-done
		return r.conn, r.err
	}
}

func enterAndDial(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	file, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, address)
}

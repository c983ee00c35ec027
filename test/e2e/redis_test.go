// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// startRedis runs a Redis server with a password at the node's own address, which pods reach, and gives that address.
func startRedis(ctx context.Context, t *testing.T, password string) string {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed; install it: go run ./hack/cluster packages redis-server")
	}
	nodes := &corev1.NodeList{}
	must(t, cluster.Client.List(ctx, nodes))
	host := ""
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			host = a.Address
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(binary, "--bind", host, "--port", port, "--requirepass", password, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return addr
}

// TestTwoBotsOnOneRedis: a bot on Redis remembers what was said before its pod was killed, and another bot on the same server
// knows nothing of it, even after it has cleared all that it has.
func TestTwoBotsOnOneRedis(t *testing.T) {
	if !bare {
		t.Skip("starts a server on the node itself: only on the cluster of hack/cluster")
	}
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	addr := startRedis(ctx, t, "secret-of-redis")
	host, port, _ := net.SplitHostPort(addr)
	must(t, cluster.PutSecret(ctx, ns, "redis", "password", "secret-of-redis"))
	must(t, cluster.Apply(ctx, ns, strings.Replace(housePolicy, "DENIED", "none", 1)))
	more := fmt.Sprintf(`  storage: {type: Redis, redis: {address: %q, passwordSecretRef: {name: redis, key: password}}}
  network: {egress: [{to: [{ipBlock: {cidr: %s/32}}], ports: [{port: %s}]}]}
`, addr, host, port)
	one, two := newBot(ns, "one"), newBot(ns, "two")
	one.more, two.more = more, more
	start(ctx, t, one)
	start(ctx, t, two)
	say := func(b botParts, text string, progress io.Writer) string {
		t.Helper()
		answer, err := cluster.AskAs(ctx, ns, b.name, "alice", "shared", text, progress)
		must(t, err)
		return answer
	}
	say(one, "my cat is called Mittens", io.Discard)
	answered := make(chan error, 1)
	said := say(two, "/clear.all", &trigger{text: "must be confirmed", then: func() {
		_, err := cluster.AskAs(ctx, ns, two.name, "alice", "shared", "Y", io.Discard)
		answered <- err
	}})
	must(t, <-answered)
	if !strings.Contains(said, "cleared") {
		t.Errorf("/clear.all says %q", said)
	}
	before, err := cluster.Pod(ctx, ns, one.name)
	must(t, err)
	_, err = cluster.Run(ctx, "", "delete", "pod", "-n", ns, harness.PodName(one.name), "--grace-period=0", "--force")
	must(t, err)
	last := func() string {
		t.Helper()
		out, err := cluster.Run(ctx, "", "get", "--raw", "/api/v1/namespaces/"+ns+"/services/fakellm:8080/proxy/admin/last")
		must(t, err)
		return out
	}
	eventually(ctx, t, "an answer of another pod", 2*time.Minute, func(ctx context.Context) (bool, string) {
		pod, err := cluster.Pod(ctx, ns, one.name)
		if err != nil || pod.UID == before.UID {
			return false, "the pod is not there yet"
		}
		answer, err := cluster.AskAs(ctx, ns, one.name, "alice", "shared", "what is my cat called?", io.Discard)
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(answer, "what is my cat called?"), answer
	})
	if !strings.Contains(last(), "Mittens") {
		t.Error("the model was not told what was said before the pod was killed")
	}
	say(two, "and what is mine called?", io.Discard)
	if strings.Contains(last(), "Mittens") {
		t.Error("one bot's conversation is known to another")
	}
}

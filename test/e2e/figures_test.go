// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// TestFigures prints what a bot costs: the time from its pod to Ready, the memory of an idle bot and of the operator,
// and the API writes of creating one and of leaving it alone. The writes are asserted: they do not depend on how
// busy the machine is.
func TestFigures(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	must(t, cluster.Apply(ctx, ns, b.personaYAML()+"---\n"+b.pluginsYAML()))
	before := auditOffset(t)
	begun := time.Now()
	must(t, cluster.Apply(ctx, ns, b.instanceYAML()))
	_, err := cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	t.Logf("kubectl apply to Active: %s", time.Since(begun).Round(10*time.Millisecond))
	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	t.Logf("pod created to Ready: %s (the API server's times have whole seconds)", readyAfter(pod))

	settle(ctx, t, ns)
	if bare {
		writes := operatorWrites(t, before, ns)
		total := 0
		for _, n := range writes {
			total += n
		}
		t.Logf("writes of the operator to create the bot: %d\n%s", total, table(writes))
		for what, n := range writes {
			if n > allowedWrites(what) {
				t.Errorf("%s: want at most %d, got %d", what, allowedWrites(what), n)
			}
		}
	}

	quiet := auditOffset(t)
	idle := time.Duration(size(20, 60)) * time.Second
	timer := time.NewTimer(idle)
	defer timer.Stop()
	<-timer.C
	if bare {
		if writes := operatorWrites(t, quiet, ns); len(writes) != 0 {
			t.Errorf("an idle bot must cause no writes, in %s there were\n%s", idle, table(writes))
		} else {
			t.Logf("writes in %s with nothing to do: 0", idle)
		}
		t.Logf("working set of the idle bot's pod: %.1f MiB", workingSet(t, pod))
		t.Logf("working set of the operator's pod: %.1f MiB", workingSet(t, operatorPod(ctx, t)))
	}
	text, err := cluster.Metrics(ctx, ns, b.name)
	must(t, err)
	rss, err := harness.Sum(text, "process_resident_memory_bytes", nil)
	must(t, err)
	t.Logf("resident memory of the idle kernel: %.1f MiB", rss/(1<<20))
}

// allowedWrites is how often creating one bot may write a kind: each child and the finalizer once, the bot's own status
// first, on the way (if that lasts over a second) and at the end; the status of each of the two Plugins and of the Persona
// when the bot comes to use it, on the way, and at the end. Events are told apart.
func allowedWrites(what string) int {
	resource, _, _ := strings.Cut(what, " ")
	switch resource {
	case "agentinstances/status", "personas/status":
		return 3
	case "plugins/status":
		return 2 * 3
	case "plugins": // the finalizer of each
		return 2
	case "events":
		return 4
	default:
		return 1
	}
}

func readyAfter(pod *corev1.Pod) time.Duration {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Sub(pod.CreationTimestamp.Time)
		}
	}
	return -1
}

// settle waits until the bot's status has not changed for two seconds.
func settle(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	version := func(ctx context.Context) string {
		out, err := cluster.Run(ctx, "", "get", "aalis,configmaps,statefulsets", "-n", ns, "-o", "jsonpath={.items[*].metadata.resourceVersion}")
		if err != nil {
			return err.Error()
		}
		return out
	}
	last, since := version(ctx), time.Now()
	eventually(ctx, t, "a quiet namespace", 30*time.Second, func(ctx context.Context) (bool, string) {
		if now := version(ctx); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second, last
	})
}

func clusterDir() string {
	if dir := os.Getenv("AALIS_CLUSTER_DIR"); dir != "" {
		return dir
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(os.Getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "aalis-operator", "cluster")
}

func auditLog() string { return filepath.Join(clusterDir(), "logs", "audit.log") }

func auditOffset(t *testing.T) int64 {
	t.Helper()
	if !bare {
		return 0
	}
	info, err := os.Stat(auditLog())
	must(t, err)
	return info.Size()
}

// operatorWrites counts the writes of the operator to a namespace since an offset of the audit log.
func operatorWrites(t *testing.T, offset int64, ns string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(auditLog())
	must(t, err)
	if int64(len(data)) < offset {
		t.Fatal("the audit log was rotated during the test")
	}
	out := map[string]int{}
	for line := range strings.Lines(string(data[offset:])) {
		var e struct {
			Verb      string `json:"verb"`
			ObjectRef struct {
				Resource, Namespace, Subresource string
			} `json:"objectRef"`
			User struct {
				Username string `json:"username"`
			} `json:"user"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.ObjectRef.Namespace != ns ||
			e.User.Username != "system:serviceaccount:"+operatorNamespace+":aalis-operator" {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		out[resource+" "+e.Verb]++
	}
	return out
}

func table(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "  %-36s %d\n", n, counts[n])
	}
	return b.String()
}

// workingSet is the memory of a pod's cgroup without its inactive file pages, in MiB: what the kubelet calls so.
func workingSet(t *testing.T, pod *corev1.Pod) float64 {
	t.Helper()
	out, err := exec.Command("find", "/sys/fs/cgroup", "-maxdepth", "6", "-type", "d", "-name", "*"+string(pod.UID)+"*").Output()
	must(t, err)
	for dir := range strings.Lines(string(out)) {
		dir = strings.TrimSpace(dir)
		used, err := number(filepath.Join(dir, "memory.usage_in_bytes"))
		if err != nil {
			if used, err = number(filepath.Join(dir, "memory.current")); err != nil {
				continue
			}
		}
		return (used - inactiveFile(filepath.Join(dir, "memory.stat"))) / (1 << 20)
	}
	t.Logf("no memory cgroup of pod %s was found", pod.Name)
	return -1
}

func number(path string) (float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var n float64
	_, err = fmt.Sscan(string(data), &n)
	return n, err
}

func inactiveFile(path string) float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var name string
		var n float64
		if _, err := fmt.Sscan(line, &name, &n); err == nil && (name == "total_inactive_file" || name == "inactive_file") {
			return n
		}
	}
	return 0
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	dir := t.TempDir()
	l, err := layout.New("/repo", layout.Env{Home: dir, ClusterDir: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	l.Run = filepath.Join(dir, "run")
	l.Nodes[0].RunDir = filepath.Join(l.Run, "1")
	return New(l, t.Logf)
}

func TestCheckCondition(t *testing.T) {
	for _, test := range []struct {
		name, body, want string // want is part of the error; empty means none
	}{
		{"true", `{"status":{"conditions":[{"type":"Other","status":"False"},{"type":"Ready","status":"True"}]}}`, ""},
		{"false", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"NoNetwork"}]}}`, "NoNetwork"},
		{"none yet", `{"status":{}}`, "no condition Ready yet"},
		{"of an older generation", `{"metadata":{"generation":2},"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`, "newest generation"},
		{"not rolled out", `{"status":{"replicas":2,"updatedReplicas":1,"conditions":[{"type":"Ready","status":"True"}]}}`, "not rolled out"},
		{"no JSON", `oops`, "reading"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkCondition([]byte(test.body), "/x", "Ready")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v; want %q", err, test.want)
			}
		})
	}
}

func TestCheckHeartbeat(t *testing.T) {
	const node = `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":"2026-01-02T03:04:05Z"}]}}`
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name  string
		body  string
		since time.Time
		good  bool
	}{
		{"reported later", node, at.Add(-time.Minute), true},
		{"reported in the same second", node, at.Add(900 * time.Millisecond), true},
		{"reported by an earlier kubelet", node, at.Add(time.Second), false},
		{"never reported", `{}`, at, false},
		{"no JSON", `oops`, at, false},
	} {
		if err := checkHeartbeat([]byte(test.body), test.since); (err == nil) != test.good {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

func TestWaitFor(t *testing.T) {
	failing := func(context.Context) error { return errors.New("not yet") }
	calls := 0
	second := func(context.Context) error {
		if calls++; calls < 2 {
			return errors.New("not yet")
		}
		return nil
	}
	if err := waitFor(t.Context(), nil, second); err != nil {
		t.Errorf("a check that passes later: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := waitFor(canceled, nil, failing); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not yet") {
		t.Errorf("an interrupted wait: %v", err)
	}
	ended := make(chan struct{})
	close(ended)
	if err := waitFor(t.Context(), ended, failing); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a process that ended: %v", err)
	}
}

func TestFoldersAndCredentials(t *testing.T) {
	c := newCluster(t)
	for range 2 { // the second time finds everything
		if err := c.makeFolders(); err != nil {
			t.Fatal(err)
		}
		if err := c.ensureCredentials(); err != nil {
			t.Fatal(err)
		}
	}
	if Owner(c.Run) != c.State {
		t.Errorf("owner %q", Owner(c.Run))
	}
	if _, err := layout.New("/repo", layout.Env{Home: "/h", ClusterDir: c.State}); err != nil {
		t.Errorf("the folder is not taken for a cluster's: %v", err)
	}
	info, err := os.Stat(c.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig %v, error %v", info, err)
	}
}

// TestComponentsListenLocally reads every argument that names an address.
func TestComponentsListenLocally(t *testing.T) {
	c := newCluster(t)
	names := map[string]bool{}
	for _, comp := range c.components(tools.Paths{}) {
		names[comp.Name] = true
		for _, arg := range comp.Argv {
			flag, value, _ := strings.Cut(arg, "=")
			if !strings.Contains(flag, "bind-address") && !strings.Contains(flag, "listen-") {
				continue
			}
			if !strings.Contains(value, "127.0.0.1") && !strings.Contains(value, c.Main().Address) {
				t.Errorf("%s: %s", comp.Name, arg)
			}
		}
	}
	for _, name := range newCluster(t).componentNames() {
		if !names[name] {
			t.Errorf("%s is not among the components", name)
		}
	}
}

func TestIsComponent(t *testing.T) {
	for comm, want := range map[string]bool{
		"etcd": true, "kube-controller": true, "kube-apiserver": true, "kubelet": true, "containerd": true,
		"containerd-shim": false, "sh": false, "kube": false,
	} {
		if isComponent(comm) != want {
			t.Errorf("%s: got %v", comm, !want)
		}
	}
}

func TestBaselineIsOfThisBoot(t *testing.T) {
	c := newCluster(t)
	if _, known := c.readBaseline(); known {
		t.Error("known before it was noted")
	}
	want := baseline{Chains: []string{"x"}, Settings: host.Settings{"a": "1"}}
	if err := c.writeBaseline(want); err != nil {
		t.Fatal(err)
	}
	if got, known := c.readBaseline(); !known || len(got.Chains) != 1 || got.Settings["a"] != "1" {
		t.Errorf("got %+v, known %v", got, known)
	}
	if err := os.WriteFile(c.baselineFile(), []byte(`{"boot":"another","chains":["x"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known := c.readBaseline(); known {
		t.Error("what another boot noted was taken")
	}
}

func TestRemoveFoldersKeepsLogs(t *testing.T) {
	c := newCluster(t)
	if err := c.makeFolders(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(c.Logs(), "x.log")
	if err := os.WriteFile(log, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.removeFolders(DownOptions{KeepLogs: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.PKI()); err == nil {
		t.Error("keys were kept")
	}
	if err := c.removeFolders(DownOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{c.State, c.Run} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

func TestLoadOfNothing(t *testing.T) {
	c := newCluster(t)
	if err := c.Load(t.Context(), []string{"/no/such.tar"}); err == nil || !strings.Contains(err.Error(), "/no/such.tar") {
		t.Errorf("error %v", err)
	}
}

func TestDeadSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	listen := func(name string) *net.UnixListener {
		t.Helper()
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		return l
	}
	live, dead := listen("live"), listen("dead")
	defer func() { _ = live.Close() }()
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := deadSockets(dir, time.Now().Add(time.Hour))
	if len(got) != 1 || got[0] != filepath.Join(dir, "dead") {
		t.Errorf("got %v; want the dead one", got)
	}
	if got := deadSockets(dir, time.Now().Add(-time.Hour)); len(got) > 0 {
		t.Errorf("a new socket is called dead: %v", got)
	}
}

func TestRelink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "kubectl")
	for _, target := range []string{"/a", "/a", "/b"} {
		if err := relink(target, link); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(link); err != nil || got != target {
			t.Errorf("points to %q, error %v; want %q", got, err, target)
		}
	}
}

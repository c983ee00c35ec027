// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host/fakeapi"
	"github.com/aalis-dev/aalis-operator/runtime/host/kube"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// testPod is a kernel in a pod, in this process.
type testPod struct {
	t     *testing.T
	api   *fakeapi.Server
	probe *probe
	url   string
	opts  ClusterOptions
	log   *safeBuffer
	stop  func() error
}

func newPod(t *testing.T) *testPod {
	t.Helper()
	p := &testPod{t: t, api: fakeapi.New(t), probe: &probe{drained: make(chan string, 10)}, log: &safeBuffer{}}
	p.opts = ClusterOptions{
		Modules: p.probe.modules(), Version: "v1", CatalogHash: "abc",
		Namespace: "team-a", Instance: "hello", PodName: "aalis-hello-0", PodUID: "uid-1",
		ConfigDir: t.TempDir(), SecretsDir: t.TempDir(), Addr: "127.0.0.1:0",
		API:    kube.Config{URL: p.api.URL, TokenFile: filepath.Join(p.api.Dir, "token"), CAFile: filepath.Join(p.api.Dir, "ca.crt")},
		Logger: NewLogger(p.log, slog.LevelDebug, false), Level: &slog.LevelVar{}, StartTime: time.Now(), Now: time.Now,
	}
	return p
}

func (p *testPod) start() {
	p.t.Helper()
	addr := make(chan net.Addr, 1)
	p.opts.Listening = func(a net.Addr) { addr <- a }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- RunCluster(ctx, p.opts) }()
	p.stop = sync.OnceValue(func() error { cancel(); return <-done })
	p.t.Cleanup(func() {
		if err := p.stop(); err != nil {
			p.t.Errorf("stopping: %v", err)
		}
		if p.t.Failed() {
			p.t.Logf("log:\n%s", p.log)
		}
	})
	select {
	case a := <-addr:
		p.url = "http://" + a.String()
	case err := <-done:
		p.t.Fatalf("ended at once: %v", err)
	}
}

func (p *testPod) get(path string) (int, string) {
	p.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (p *testPod) set(s kernelconfig.Slots) {
	p.t.Helper()
	data, binaryData, err := s.Maps()
	must(p.t, err)
	p.api.Set(data, binaryData)
}

type ack struct {
	PodUID          string `json:"podUID"`
	AppliedRevision string `json:"appliedRevision"`
	AppliedSequence int64  `json:"appliedSequence"`
	Rejected        *struct {
		Sequence int64 `json:"sequence"`
	} `json:"rejected"`
}

// acknowledged waits for an acknowledgement.
func (p *testPod) acknowledged(what string, ok func(ack) bool) ack {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r := <-p.api.Requests:
			var body struct {
				Status ack `json:"status"`
			}
			if r.Verb == "patch" && json.Unmarshal(r.Body, &body) == nil && ok(body.Status) {
				return body.Status
			}
		case <-deadline:
			p.t.Fatalf("gave up waiting until %s is acknowledged", what)
		}
	}
}

func TestCluster(t *testing.T) {
	p := newPod(t)
	one := pack(t, config(plugin("key:a", "one")), 1)
	p.set(kernelconfig.Slots{Current: one})
	p.start()
	if a := p.acknowledged("1", func(a ack) bool { return a.AppliedSequence == 1 }); a.PodUID != "uid-1" || a.AppliedRevision != one.Revision {
		t.Errorf("got %+v", a)
	}
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "ok", "/metrics": `aalis_config_applies_total{agent="hello",namespace="team-a",result="applied"} 1`} {
		if code, body := p.get(path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
	if code, _ := p.get("/other"); code != http.StatusNotFound {
		t.Errorf("got %d", code)
	}
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("nope", "")), 2), LastGood: one})
	p.acknowledged("the rejection of 2", func(a ack) bool { return a.Rejected != nil && a.Rejected.Sequence == 2 && a.AppliedSequence == 1 })
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "three")), 3), LastGood: one})
	p.acknowledged("3", func(a ack) bool { return a.Rejected == nil && a.AppliedSequence == 3 })

	// The API goes away and comes back: the bot runs on, and takes what is new then.
	p.api.SetDown(true)
	if code, _ := p.get("/readyz"); code != http.StatusOK {
		t.Errorf("not ready while the API is away: %d", code)
	}
	p.api.SetDown(false)
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "four")), 4)})
	p.acknowledged("4", func(a ack) bool { return a.AppliedSequence == 4 })
	if got := p.probe.starts(keyID); got[len(got)-1].Note != "four" {
		t.Errorf("got %+v", got)
	}
	for line := range strings.Lines(p.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
	}
}

func TestClusterDrains(t *testing.T) {
	p := newPod(t)
	p.probe.hold = make(chan struct{})
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "")), 1)})
	p.start()
	p.acknowledged("1", func(a ack) bool { return a.AppliedSequence == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop() }()
	for {
		code, body := p.get("/readyz")
		if code == http.StatusServiceUnavailable && strings.Contains(body, "draining") {
			break
		}
	}
	if code, _ := p.get("/livez"); code != http.StatusOK {
		t.Errorf("not alive while draining: %d", code)
	}
	close(p.probe.hold)
	must(t, <-stopped)
}

// TestClusterStartsFromTheMountedCopy has no API at the start, which later has something newer, and first something older.
func TestClusterStartsFromTheMountedCopy(t *testing.T) {
	p := newPod(t)
	p.api.SetDown(true)
	data, binaryData, err := kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "mounted")), 5)}.Maps()
	must(t, err)
	for k, v := range data {
		must(t, os.WriteFile(filepath.Join(p.opts.ConfigDir, k), []byte(v), 0o600))
	}
	for k, v := range binaryData {
		must(t, os.WriteFile(filepath.Join(p.opts.ConfigDir, k), v, 0o600))
	}
	p.start()
	for {
		if code, _ := p.get("/readyz"); code == http.StatusOK {
			break
		}
	}
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "older")), 4)})
	p.api.SetDown(false)
	p.acknowledged("5", func(a ack) bool { return a.AppliedSequence == 5 })
	p.set(kernelconfig.Slots{Current: pack(t, config(plugin("key:a", "newer")), 6)})
	p.acknowledged("6", func(a ack) bool { return a.AppliedSequence == 6 })
	for _, s := range p.probe.starts(keyID) {
		if s.Note == "older" {
			t.Error("a lower sequence was applied")
		}
	}
}

func TestClusterWithoutConfig(t *testing.T) {
	p := newPod(t)
	must(t, os.Mkdir(filepath.Join(p.opts.ConfigDir, "current"), 0o700)) // not even the mounted copy can be read
	p.api.SetDown(true)
	p.start()
	if code, body := p.get("/readyz"); code != http.StatusServiceUnavailable || body != "not ready: no config has been delivered yet\n" {
		t.Errorf("got %d %q", code, body)
	}
	p.api.SetDown(false)
	p.acknowledged("nothing", func(a ack) bool { return a.AppliedRevision == "" && a.PodUID == "uid-1" })
}

func TestClusterErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = taken.Close() }()
	for name, tc := range map[string]struct {
		change func(*ClusterOptions)
		want   string
	}{
		"no identity": {func(o *ClusterOptions) { o.Namespace, o.Instance, o.PodName, o.PodUID = "", "", "", "" }, "AALIS_NAMESPACE must be set\nAALIS_INSTANCE must be set\nAALIS_POD_NAME must be set\nAALIS_POD_UID must be set"},
		"no CA":       {func(o *ClusterOptions) { o.API.CAFile = "/nowhere" }, "reading the API server's CA"},
		"port taken":  {func(o *ClusterOptions) { o.Addr = taken.Addr().String() }, "listening on"},
	} {
		p := newPod(t)
		tc.change(&p.opts)
		if err := RunCluster(t.Context(), p.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSignals(t *testing.T) {
	codes := make(chan int, 1)
	ctx, stop := UntilSignal(t.Context(), func(code int) { codes <- code })
	defer stop()
	must(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	must(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	if code := <-codes; code != 143 {
		t.Errorf("got %d", code)
	}
	stop()
	stop()
}

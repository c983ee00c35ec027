// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/host/fakeapi"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// patience bounds waits on other processes.
const patience = 20 * time.Second

// build builds the program as a release is built.
func build(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aalis")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// pod is the program as a pod runs it, against a fake API server.
type pod struct {
	api  *fakeapi.Server
	cmd  *exec.Cmd
	addr string
	log  bytes.Buffer
	done chan error
}

func startPod(t testing.TB, binary string, api *fakeapi.Server, extra ...string) *pod {
	t.Helper()
	p := &pod{api: api, addr: freeAddr(t), done: make(chan error, 1)}
	dir := t.TempDir()
	p.cmd = exec.Command(binary, append([]string{
		"run", "--cluster", "--api-url", api.URL, "--service-account-dir", api.Dir, "--config-dir", dir,
		"--secrets-dir", filepath.Join(dir, "secrets"), "--data-dir", dir, "--metrics-addr", p.addr,
	}, extra...)...)
	p.cmd.Env = []string{
		"AALIS_NAMESPACE=team-a", "AALIS_INSTANCE=hello", "AALIS_POD_NAME=aalis-hello-0", "AALIS_POD_UID=uid-1",
		"GOMEMLIMIT=230MiB",
	}
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("log:\n%s", p.log.String())
		}
	})
	return p
}

func (p *pod) get(path string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// until polls, because the condition is in another process.
func until(t testing.TB, what string, every time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("gave up waiting until %s", what)
		case <-tick.C:
		}
	}
}

// memory reads fields of /proc/PID/status in KiB.
func (p *pod) memory(t testing.TB) map[string]int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("needs /proc")
	}
	defer func() { _ = f.Close() }()
	out := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		if err == nil {
			out[name] = n
		}
	}
	return out
}

// sample is the config of a bot as most are: the modules that are on by default, a provider and the way in.
func sample(t testing.TB, prompt string, sequence int64) kernelconfig.Delivery {
	t.Helper()
	c := kernelconfig.Config{
		Format: kernelconfig.Format, Name: "hello", Namespace: "team-a", LogLevel: "info", Language: "en", DrainTimeoutSeconds: 5,
		Model:   &kernelconfig.Model{Provider: "@aalis/plugin-llm-openai:main", ID: "gpt-4o-mini"},
		Persona: &kernelconfig.Persona{Source: "night-owl", Name: "Night Owl", Prompt: prompt},
	}
	for _, m := range host.Modules() {
		p := kernelconfig.Plugin{ID: m.Name, Module: m.Name}
		switch m.Name {
		case "@aalis/plugin-llm-openai":
			p.ID += ":main"
			p.Config = map[string]any{"baseUrl": "http://llm.example:8080", "customModels": "gpt-4o-mini"}
			p.Secrets = []kernelconfig.Secret{{Path: "apiKey", Name: "llm", Key: "api-key"}}
		case "@aalis/plugin-platform-openai":
			p.Config = map[string]any{"port": 18000 + os.Getpid()%1000}
			p.Secrets = []kernelconfig.Secret{{Path: "tokens", Name: "users", Key: "tokens"}}
		default:
			if !m.OnByDefault {
				continue
			}
		}
		c.Plugins = append(c.Plugins, p)
	}
	d, err := kernelconfig.Pack(c, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func set(t testing.TB, api *fakeapi.Server, s kernelconfig.Slots) {
	t.Helper()
	data, binaryData, err := s.Maps()
	if err != nil {
		t.Fatal(err)
	}
	api.Set(data, binaryData)
}

// acknowledged waits for the acknowledgement of a sequence.
func acknowledged(t testing.TB, api *fakeapi.Server, sequence int64) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-deadline:
			t.Fatalf("sequence %d was not acknowledged", sequence)
		case r := <-api.Requests:
			var body struct {
				Status struct {
					AppliedSequence int64 `json:"appliedSequence"`
				} `json:"status"`
			}
			if r.Verb == "patch" && json.Unmarshal(r.Body, &body) == nil && body.Status.AppliedSequence == sequence {
				return
			}
		}
	}
}

// TestFigures measures what a pod costs: the time from the start of the process until /readyz is true, the memory of an
// idle bot, the time from a change at the API until its acknowledgement, and the time to stop.
func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the program")
	}
	binary := build(t)
	const runs = 7
	var starts, stops []time.Duration
	for range runs {
		api := fakeapi.New(t)
		set(t, api, kernelconfig.Slots{Current: ptr(sample(t, "You are calm.", 1))})
		began := time.Now()
		p := startPod(t, binary, api)
		until(t, "the pod is ready", time.Millisecond, func() bool { code, _ := p.get("/readyz"); return code == http.StatusOK })
		starts = append(starts, time.Since(began))
		acknowledged(t, api, 1)
		stops = append(stops, p.terminate(t))
	}
	api := fakeapi.New(t)
	set(t, api, kernelconfig.Slots{Current: ptr(sample(t, "You are calm.", 1))})
	p := startPod(t, binary, api)
	acknowledged(t, api, 1)
	edits := p.edits(t, 5)
	_, _ = p.get("/metrics")
	<-time.After(idleTime(t))
	idle := p.memory(t)
	p.terminate(t)
	t.Logf("start to /readyz: %s (target 200 ms)", spread(starts))
	t.Logf("edit at the API to acknowledgement: %s (target 100 ms)", spread(edits))
	t.Logf("idle: RSS %.1f MiB, of that anonymous %.1f MiB, files %.1f MiB (target 30 MiB)",
		mib(idle["VmRSS"]), mib(idle["RssAnon"]), mib(idle["RssFile"]))
	t.Logf("SIGTERM to exit: %s", spread(stops))
	if median(starts) > 200*time.Millisecond || idle["VmRSS"] > 30*1024 {
		t.Error("a target is missed")
	}
}

// edits changes the persona, further apart than the limit of one acknowledgement a second, and measures each change.
func (p *pod) edits(t testing.TB, n int) []time.Duration {
	t.Helper()
	var out []time.Duration
	for i := range n {
		<-time.After(1200 * time.Millisecond)
		sequence := int64(i + 2)
		d := sample(t, fmt.Sprint("You are calm. ", i), sequence)
		began := time.Now()
		set(t, p.api, kernelconfig.Slots{Current: &d})
		acknowledged(t, p.api, sequence)
		out = append(out, time.Since(began))
	}
	return out
}

// terminate ends the pod as the kubelet does and measures how long that takes.
func (p *pod) terminate(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

func spread(d []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("median %.1f ms (%.1f to %.1f), n=%d", ms(median(d)), ms(slices.Min(d)), ms(slices.Max(d)), len(d))
}

// idleTime is how long the program is left alone before its memory is read: AALIS_FIGURES_IDLE, or a second.
func idleTime(t testing.TB) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv("AALIS_FIGURES_IDLE"))
	if err != nil {
		return time.Second
	}
	return d
}

func mib(kib int) float64 { return float64(kib) / 1024 }

func ptr[T any](v T) *T { return &v }

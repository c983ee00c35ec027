// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

const (
	// patience bounds each wait on another process.
	patience = 20 * time.Second
	// pace is between two pieces of an answer, so that there is time to be killed in.
	pace = time.Millisecond

	botName = "crash"
	userID  = "tester"
	token   = "crash-token"
	apiKey  = "sk-crash"
)

const manifest = `apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: {baseUrl: "MODEL", customModels: "gpt-4o-mini"}
  secrets:
  - {path: apiKey, secretKeyRef: {name: llm, key: api-key}}
---
apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: door}
spec:
  module: platform-openai
  config: {port: PORT}
  secrets:
  - {path: tokens, secretKeyRef: {name: door, key: tokens}}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: crash}
spec:
  model: {plugin: main, id: gpt-4o-mini}
  storage: STORAGE
  plugins:
  - {name: main}
  - {name: door}
  - {name: budget, module: prompt-budget}
`

// build builds the program as a release is built, without the version.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aalis")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "../../cmd/aalis")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// until polls, because the condition is in another process.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("gave up waiting until %s", what)
		case <-tick.C:
		}
	}
}

// program is what is started again and again on the same data.
type program struct {
	binary, manifest, dataDir string
	door, probes              string // addresses
}

// newProgram declares a bot with a storage, and starts its model.
func newProgram(t *testing.T, binary, storage string) *program {
	t.Helper()
	model := httptest.NewServer(fakellm.New(fakellm.Options{APIKeys: []string{apiKey}, ChunkDelay: pace, LedgerEntries: 1}))
	t.Cleanup(model.Close)
	dir := t.TempDir()
	p := &program{
		binary: binary, manifest: filepath.Join(dir, "bot.yaml"), dataDir: filepath.Join(dir, "data"),
		door: freeAddr(t), probes: freeAddr(t),
	}
	_, port, _ := net.SplitHostPort(p.door)
	text := strings.NewReplacer("MODEL", model.URL, "PORT", port, "STORAGE", storage).Replace(manifest)
	if err := os.WriteFile(p.manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// process is one life of the program.
type process struct {
	*program
	cmd   *exec.Cmd
	stdin io.Closer // the bot runs as long as it is open
	log   bytes.Buffer
}

func (p *program) start(t *testing.T) *process {
	t.Helper()
	cmd := exec.Command(p.binary, "run", p.manifest, "--data-dir", p.dataDir, "--metrics-addr", p.probes)
	cmd.Env = []string{"AALIS_SECRET_LLM_API_KEY=" + apiKey, "AALIS_SECRET_DOOR_TOKENS=" + userID + ": " + token}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	life := &process{program: p, cmd: cmd, stdin: stdin}
	cmd.Stderr = &life.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return life
}

// kill ends the process as a crash or the kernel's OOM killer would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it is dead already
	_ = p.cmd.Wait()         // tells that it was killed
}

// stop ends the process as the end of its input does.
func (p *process) stop() error {
	_ = p.stdin.Close() // Wait tells what matters
	return p.cmd.Wait()
}

func (p *process) ready() bool {
	resp, err := httpClient().Get("http://" + p.probes + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// httpClient makes a new connection for each request: those to a process that was killed are of no use.
func httpClient() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
}

// startRedis runs a Redis server on loopback and tells its address.
func startRedis(t *testing.T) string {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed; install it: go run ./hack/cluster packages redis-server")
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(binary, "--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(), "--save", "", "--appendonly", "no",
		"--loglevel", "warning")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	until(t, "redis-server answers", func() bool { return client.Ping(t.Context()).Err() == nil })
	return addr
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/host/fakeapi"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

func testClient(t *testing.T, api *fakeapi.Server) *Client {
	t.Helper()
	c, err := NewClient(Config{URL: api.URL, TokenFile: filepath.Join(api.Dir, "token"), CAFile: filepath.Join(api.Dir, "ca.crt"), UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// receive waits for one value.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("gave up waiting for %s", what)
		panic("unreachable")
	}
}

// request waits for the next request of a verb.
func nextRequest(t *testing.T, api *fakeapi.Server, verb string) fakeapi.Request {
	t.Helper()
	for {
		if r := receive(t, "a "+verb, api.Requests); r.Verb == verb {
			return r
		}
	}
}

func pack(t *testing.T, name string, sequence int64) kernelconfig.Delivery {
	t.Helper()
	d, err := kernelconfig.Pack(kernelconfig.Config{Format: kernelconfig.Format, Name: name}, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func set(t *testing.T, api *fakeapi.Server, s kernelconfig.Slots) {
	t.Helper()
	data, binaryData, err := s.Maps()
	if err != nil {
		t.Fatal(err)
	}
	api.Set(data, binaryData)
}

// waits records pauses and does not wait.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	w.list = append(w.list, d)
	w.mu.Unlock()
	return ctx.Err()
}

type following struct {
	updates chan Update
	lists   chan error
	pauses  *waits
	stop    func()
}

func follow(t *testing.T, api *fakeapi.Server) following {
	t.Helper()
	f := following{updates: make(chan Update, 100), lists: make(chan error, 1000), pauses: &waits{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	client := testClient(t, api)
	go func() {
		defer close(done)
		Follow(ctx, FollowOptions{
			Client: client, Namespace: "team-a", Name: "aalis-hello", Logger: slog.New(slog.DiscardHandler),
			OnUpdate: func(u Update) { f.updates <- u },
			OnList: func(err error) {
				select {
				case f.lists <- err:
				default:
				}
			},
			Wait: f.pauses.wait,
		})
	}()
	f.stop = func() { cancel(); <-done }
	t.Cleanup(f.stop)
	return f
}

func (f following) sequence(t *testing.T) int64 {
	t.Helper()
	u := receive(t, "an update", f.updates)
	if u.Err != nil {
		t.Fatal(u.Err)
	}
	if u.Slots.Current == nil {
		return -1
	}
	return u.Slots.Current.Sequence
}

func TestFollowListsAndWatchesOneObject(t *testing.T) {
	api := fakeapi.New(t)
	one := pack(t, "hello", 1)
	set(t, api, kernelconfig.Slots{Current: &one})
	f := follow(t, api)
	if got := f.sequence(t); got != 1 {
		t.Fatalf("got sequence %d", got)
	}
	if err := receive(t, "the list", f.lists); err != nil {
		t.Fatal(err)
	}
	list := nextRequest(t, api, "list")
	want := map[string][]string{"fieldSelector": {"metadata.name=aalis-hello"}}
	if d := cmp.Diff(want, list.Query); d != "" || list.Path != "/api/v1/namespaces/team-a/configmaps" {
		t.Errorf("list of %s (-want +got):\n%s", list.Path, d)
	}
	watch := nextRequest(t, api, "watch")
	for key, v := range map[string]string{"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "101", "fieldSelector": "metadata.name=aalis-hello"} {
		if got := strings.Join(watch.Query[key], ","); got != v {
			t.Errorf("watch with %s=%s, want %s", key, got, v)
		}
	}
	two := pack(t, "hello", 2)
	set(t, api, kernelconfig.Slots{Current: &two, LastGood: &one})
	u := receive(t, "an update", f.updates)
	if u.Slots.Current.Sequence != 2 || u.Slots.LastGood.Sequence != 1 {
		t.Errorf("got %+v", u)
	}
	if c, err := u.Slots.Current.Unpack(); err != nil || c.Name != "hello" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestFollowGoesOnFromABookmark(t *testing.T) {
	api := fakeapi.New(t)
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 1))})
	f := follow(t, api)
	f.sequence(t)
	nextRequest(t, api, "watch")
	api.Bookmark()
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 2))}) // so that the bookmark has been read when this has
	f.sequence(t)
	api.Bookmark()
	api.Drop()
	again := nextRequest(t, api, "watch")
	if got := again.Query["resourceVersion"]; len(got) != 1 || got[0] != "104" {
		t.Errorf("watched again from %v, want the bookmark's 104", got)
	}
}

func TestFollowListsAgainWhenTheVersionExpired(t *testing.T) {
	for name, event := range map[string]bool{"told by an event": true, "told by the answer": false} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t)
			set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 1))})
			f := follow(t, api)
			f.sequence(t)
			nextRequest(t, api, "watch")
			api.Expire(event)
			if !event {
				api.Drop()
			}
			if got := f.sequence(t); got != 1 {
				t.Errorf("got sequence %d", got)
			}
			nextRequest(t, api, "list")
			nextRequest(t, api, "watch")
		})
	}
}

func TestFollowSurvivesAnAPIThatIsAway(t *testing.T) {
	api := fakeapi.New(t)
	api.SetDown(true)
	f := follow(t, api)
	for range 12 {
		if err := receive(t, "a list", f.lists); err == nil {
			t.Fatal("a list of a server that is away went well")
		}
	}
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 7))})
	api.SetDown(false)
	if got := f.sequence(t); got != 7 {
		t.Errorf("got sequence %d", got)
	}
	f.pauses.mu.Lock()
	defer f.pauses.mu.Unlock()
	for i, d := range f.pauses.list {
		most := min(firstPause<<min(i, 20), lastPause)
		if d < most/2 || d > most*3/2 {
			t.Errorf("pause %d is %v, want about %v", i, d, most)
		}
	}
}

func TestFollowDisconnectedInTheMiddle(t *testing.T) {
	api := fakeapi.New(t)
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 1))})
	f := follow(t, api)
	f.sequence(t)
	nextRequest(t, api, "watch")
	api.Send("{\"type\":\"MODIFIED\",\"obj")
	api.Drop()
	nextRequest(t, api, "watch")
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 2))})
	if got := f.sequence(t); got != 2 {
		t.Errorf("got sequence %d", got)
	}
	for _, line := range []string{
		"{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"boom\"}}\n", "{\"type\":\"ERROR\",\"object\":[]}\n",
		"{\"type\":\"MODIFIED\",\"object\":[]}\n", "nonsense\n",
	} {
		api.Send(line)
		nextRequest(t, api, "watch")
	}
	api.Delete()
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 3))})
	if got := f.sequence(t); got != 3 {
		t.Errorf("got sequence %d after the ConfigMap came back", got)
	}
}

func TestFollowNoConfigMap(t *testing.T) {
	api := fakeapi.New(t)
	f := follow(t, api)
	if got := f.sequence(t); got != -1 {
		t.Errorf("got sequence %d", got)
	}
	nextRequest(t, api, "watch")
	set(t, api, kernelconfig.Slots{Current: ptr(pack(t, "hello", 1))})
	if got := f.sequence(t); got != 1 {
		t.Errorf("got sequence %d", got)
	}
}

func TestTokenIsReadAgain(t *testing.T) {
	api := fakeapi.New(t)
	f := follow(t, api)
	f.sequence(t)
	api.SetToken("token-2")
	api.Drop()
	for nextRequest(t, api, "watch").Code != http.StatusUnauthorized {
	}
	if err := os.WriteFile(filepath.Join(api.Dir, "token"), []byte("token-2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for nextRequest(t, api, "watch").Code != http.StatusOK {
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	now := time.Unix(0, 0)
	f := tokenFile{path: path, now: func() time.Time { return now }}
	steps := []struct {
		name    string
		content string // written unless empty
		after   time.Duration
		forget  bool
		want    string
		err     string
	}{
		{name: "none", err: "reading the token"},
		{name: "blank", content: " \n", err: "it is empty"},
		{name: "first", content: "a\n", want: "a"},
		{name: "renewed a moment later", content: "b", want: "a"},
		{name: "a minute later", after: tokenAge, want: "b"},
		{name: "refused", content: "c", forget: true, want: "c"},
		{name: "emptied", content: " ", after: 2 * tokenAge, want: "c"},
	}
	for _, s := range steps {
		if s.content != "" {
			if err := os.WriteFile(path, []byte(s.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(s.after)
		if s.forget {
			f.forget()
		}
		got, err := f.read()
		if got != s.want || (s.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), s.err) {
			t.Errorf("%s: got %q, %v", s.name, got, err)
		}
	}
}

func TestReadUpdateOfDamagedSlots(t *testing.T) {
	good, other := pack(t, "hello", 2), pack(t, "hello", 1)
	data, binaryData, err := kernelconfig.Slots{Current: &good, LastGood: &other}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		damage                  func(data map[string]string, binary map[string][]byte)
		current, lastGood, fail bool
	}{
		"whole":               {func(map[string]string, map[string][]byte) {}, true, true, false},
		"current's header":    {func(d map[string]string, _ map[string][]byte) { d["current"] = "{" }, false, true, true},
		"current's data":      {func(_ map[string]string, b map[string][]byte) { delete(b, "current.json.gz") }, false, true, true},
		"last good's header":  {func(d map[string]string, _ map[string][]byte) { d["lastGood"] = "x" }, true, false, false},
		"both":                {func(d map[string]string, _ map[string][]byte) { d["current"], d["lastGood"] = "x", "y" }, false, false, true},
		"nothing":             {func(d map[string]string, _ map[string][]byte) { clear(d) }, false, false, false},
		"only last good left": {func(d map[string]string, _ map[string][]byte) { delete(d, "current") }, false, true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, b := map[string]string{}, map[string][]byte{}
			dir := t.TempDir()
			for k, v := range data {
				d[k] = v
			}
			for k, v := range binaryData {
				b[k] = v
			}
			tc.damage(d, b)
			for k, v := range d {
				write(t, filepath.Join(dir, k), []byte(v))
			}
			for k, v := range b {
				write(t, filepath.Join(dir, k), v)
			}
			mounted, err := ReadMounted(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range []Update{readUpdate(d, b), mounted} {
				if (u.Slots.Current != nil) != tc.current || (u.Slots.LastGood != nil) != tc.lastGood || (u.Err != nil) != tc.fail {
					t.Errorf("got %+v", u)
				}
			}
		})
	}
	broken := t.TempDir()
	if err := os.Mkdir(filepath.Join(broken, "current"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMounted(broken); err == nil {
		t.Error("a directory was read as a slot")
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestClientErrors(t *testing.T) {
	api := fakeapi.New(t)
	ca := filepath.Join(api.Dir, "ca.crt")
	noCA := filepath.Join(t.TempDir(), "ca.crt")
	write(t, noCA, []byte("nothing"))
	for name, tc := range map[string]struct {
		config Config
		want   string
	}{
		"no URL":   {Config{URL: "::", CAFile: ca}, "must be a URL"},
		"no host":  {Config{URL: "x", CAFile: ca}, "must be a URL"},
		"no CA":    {Config{URL: api.URL, CAFile: "/nowhere/ca.crt"}, "reading the API server's CA"},
		"empty CA": {Config{URL: api.URL, CAFile: noCA}, "holds no certificate"},
	} {
		if _, err := NewClient(tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	c, err := NewClient(Config{URL: api.URL, CAFile: ca, TokenFile: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.do(context.Background(), request{method: "GET", path: "/"}); err == nil || !strings.Contains(err.Error(), "reading the token") {
		t.Errorf("got %v", err)
	}
	if _, err := testClient(t, api).do(context.Background(), request{method: "?"}); err == nil {
		t.Error("a request without sense was made")
	}
}

func TestInCluster(t *testing.T) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
	c, err := InCluster("/dir", func(k string) string { return env[k] })
	if err != nil || c.URL != "https://[fd00::1]:443" || c.TokenFile != "/dir/token" || c.CAFile != "/dir/ca.crt" {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := InCluster("/dir", func(string) string { return "" }); err == nil {
		t.Error("a machine that is no pod passed for one")
	}
}

func TestStatusError(t *testing.T) {
	for _, tc := range []struct {
		err  *StatusError
		want string
	}{
		{&StatusError{Code: 503}, "the API server answered 503 Service Unavailable"},
		{&StatusError{Code: 403, Message: "no"}, "the API server answered 403: no"},
	} {
		if got := fmt.Errorf("x: %w", tc.err); got.Error() != "x: "+tc.want || !hasCode(got, tc.err.Code) {
			t.Errorf("got %v", got)
		}
	}
	if hasCode(errors.New("x"), 0) {
		t.Error("any error has a code")
	}
}

func TestSleep(t *testing.T) {
	if err := sleep(context.Background(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sleep(ctx, time.Hour); err == nil {
		t.Error("slept an hour")
	}
}

func ptr[T any](v T) *T { return &v }

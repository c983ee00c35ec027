// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filewatch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// start runs a watcher and returns the channel of its calls.
func start(t *testing.T, o Options, dirs ...string) <-chan struct{} {
	t.Helper()
	w, err := New(dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func() { calls <- struct{}{} })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return calls
}

func await(t *testing.T, calls <-chan struct{}) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(patience):
		t.Fatal("gave up waiting for a call")
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(time.Now().String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBurstIsOneCall(t *testing.T) {
	dir := t.TempDir()
	calls := start(t, Options{Debounce: 200 * time.Millisecond}, dir)
	for _, name := range []string{"a", "b", "a", "c"} {
		write(t, filepath.Join(dir, name))
	}
	await(t, calls)
	if len(calls) > 0 {
		t.Error("a burst made several calls")
	}
}

func TestAtomicRename(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bot.yaml")
	write(t, file)
	calls := start(t, Options{Debounce: time.Millisecond}, dir)
	for range 3 { // the inode changes each time
		write(t, file+".tmp")
		await(t, calls)
		if err := os.Rename(file+".tmp", file); err != nil {
			t.Fatal(err)
		}
		await(t, calls)
	}
}

func TestSteadyEventsDoNotPutOffTheCallForEver(t *testing.T) {
	dir := t.TempDir()
	calls := start(t, Options{Debounce: 20 * time.Millisecond}, dir)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(filepath.Join(dir, "busy"), nil, 0o600)
			}
		}
	}()
	await(t, calls)
	close(stop)
	<-stopped
}

func TestBelowFindsNewDirectories(t *testing.T) {
	root := t.TempDir()
	calls := start(t, Options{Debounce: time.Millisecond, Below: true}, root)
	sub := filepath.Join(root, "llm")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	await(t, calls)
	write(t, filepath.Join(sub, "key"))
	await(t, calls)
}

func TestPollFindsWhatWasMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	calls := start(t, Options{Debounce: time.Millisecond, Poll: 5 * time.Millisecond}, dir)
	await(t, calls)
	write(t, filepath.Join(filepath.Dir(dir), "other"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	await(t, calls)
}

func TestPollAlone(t *testing.T) {
	w := &Watcher{opts: Options{Poll: time.Millisecond}}
	ctx, cancel := context.WithCancel(context.Background())
	w.Run(ctx, cancel)
}

func TestUnwatchable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file)
	calls := start(t, Options{Poll: time.Millisecond, Below: true}, file+"/x")
	await(t, calls)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// buffer is for a writer and a reader at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) has(text string) func() bool {
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Contains(b.b.String(), text)
	}
}

// TestRunEdit edits the file of a running bot: well, badly, and well again.
func TestRunEdit(t *testing.T) {
	path := bot(t, model(t).URL)
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var out, notes buffer
	code := make(chan int, 1)
	go func() {
		code <- run(process{
			args: []string{"run", path, "--secret", "llm/api-key=env:KEY"}, in: in, out: &out, err: &notes, started: time.Now(),
			getenv: func(string) string { return "" }, lookupEnv: func(k string) (string, bool) { return "sk-1", k == "KEY" },
			exit: func(int) { t.Error("exited at once") },
		})
	}()
	edit := func(old, new string) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".tmp", []byte(strings.Replace(string(text), old, new, 1)), 0o600)
		}
		if err == nil {
			err = os.Rename(path+".tmp", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func(text, answer string) {
		if _, err := io.WriteString(typing, text+"\n"); err != nil {
			t.Fatal(err)
		}
		until(t, "the answer has "+answer, time.Millisecond, out.has(answer))
	}
	ask("one", calm)
	edit("calm", "wild")
	until(t, "the edit is live", time.Millisecond, notes.has("aalis: The change is live."))
	ask("two", "You are a wild night-time companion.")
	edit("prompt:", "promt:")
	until(t, "the mistake is told", time.Millisecond, notes.has("bot.yaml: document 2, line 15: Persona: unknown field \"spec.promt\""))
	ask("three", "three")
	edit("promt:", "prompt:")
	until(t, "it is right again", time.Millisecond, notes.has("The files are in order again."))
	if err := typing.Close(); err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

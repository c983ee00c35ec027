// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func TestPersonasDir(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, err := personasDir("", data); dir != "" || err != nil {
		t.Errorf("no directory: %q %v", dir, err)
	}
	usual := filepath.Join(data, "personas")
	if err := os.Mkdir(usual, 0o700); err != nil {
		t.Fatal(err)
	}
	for named, want := range map[string]string{"": usual, data: data} {
		if dir, err := personasDir(named, data); dir != want || err != nil {
			t.Errorf("%q: got %q %v", named, dir, err)
		}
	}
	for named, want := range map[string]string{file: "must name a directory", filepath.Join(data, "none"): "no such file"} {
		if _, err := personasDir(named, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", named, err)
		}
	}
}

// TestPersonasOfFiles: they are further personas, and what is declared wins.
func TestPersonasOfFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"lark.yaml": "name: File\nprompt: p", "cat.yaml": "name: Cat\nprompt: p", "bad.yaml": "name: x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := declaration{personas: dir}
	out := host.Loaded{Config: kernelconfig.Config{Personas: []kernelconfig.Persona{{Source: "lark", Name: "Declared"}}}}
	d.addPersonas(&out)
	if p := out.Config.Personas; len(p) != 2 || p[0].Name != "Declared" || p[1].Source != "cat" {
		t.Errorf("got %+v", p)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "bad.yaml: prompt must be set") {
		t.Errorf("notes %q", out.Notes)
	}
	if dirs := d.dirs(); len(dirs) != 1 || dirs[0] != dir {
		t.Errorf("watched %q", dirs)
	}
}

// TestEditedCardIsReadAgain: a card that is edited while the bot runs is a change of the declaration.
func TestEditedCardIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	bot := filepath.Join(dir, "bot.yaml")
	cards := filepath.Join(dir, "cards")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(cards, 0o700); err != nil {
		t.Fatal(err)
	}
	write(bot, "apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: hello}\n")
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	d := declaration{paths: []string{bot}, catalog: c, personas: cards}
	for _, prompt := range []string{"You are a lark.", "You are an early lark."} {
		write(filepath.Join(cards, "lark.yaml"), "name: Lark\nprompt: "+prompt)
		out, err := d.load()
		if err != nil || len(out.Config.Personas) != 1 || out.Config.Personas[0].Prompt != prompt {
			t.Errorf("got %+v, %v", out.Config.Personas, err)
		}
	}
}

// TestPinIsLeftOut: earlier revisions are in a cluster only; a bot of files runs its objects as they stand, and says so.
func TestPinIsLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bot.yaml")
	text := `
apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: owl}
spec: {prompt: You are an owl.}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello}
spec:
  personaRef: {name: owl}
  pin: [{kind: Persona, name: owl, revision: 1, overRevision: 2}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	out, err := declaration{paths: []string{file}, catalog: cat}.load()
	if err != nil || out.Config.Persona == nil || out.Config.Persona.Prompt != "You are an owl." {
		t.Fatalf("loaded %+v, %v", out.Config.Persona, err)
	}
	if notes := strings.Join(out.Notes, "; "); !strings.Contains(notes, "spec.pin is left out") {
		t.Errorf("notes %q", notes)
	}
}

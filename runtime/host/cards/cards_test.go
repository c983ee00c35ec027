// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

const full = `name: Cat
description: A cat.
prompt: Meow.
traits: [soft]
greeting: Purr
nick_name: [kitty]
outputFormat:
  say: {description: what, reply: true}
  mood: {type: odd}
  energy: {type: number}
  awake: {type: boolean}
outputFormatPrompt: As JSON.
outputFormatRetries: 2.9
clientSideJsonRendering: true
skills: []
`

func TestDecode(t *testing.T) {
	two := int32(2)
	want := kernelconfig.Persona{
		Source: "cat", Name: "Cat", Description: "A cat.", Prompt: "Meow.", Traits: []string{"soft"}, Greeting: "Purr",
		NickNames: []string{"kitty"}, ClientSideJSONRendering: true, Skills: []string{},
		OutputFormat: &kernelconfig.OutputFormat{Prompt: "As JSON.", Retries: &two, Fields: []kernelconfig.OutputField{
			{Name: "say", Description: "what", Type: "string", Reply: true}, {Name: "mood", Type: "string"},
			{Name: "energy", Type: "number"}, {Name: "awake", Type: "boolean"},
		}},
	}
	got, err := Decode("cat", []byte(full))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, problem := range map[string]string{
		"":                                    "is no persona card",
		"[1]":                                 "is no persona card",
		"name: a\nprompt: b\npromt: c":        "promt",
		"prompt: b":                           "name must be set",
		"name: a\nprompt: ' '":                "prompt must be set",
		"name: a\nprompt: b\n---\nname: c":    "must hold one document",
		"name: a\nprompt: b\noutputFormat: 1": "outputFormat must be a map",
		"name: a\nprompt: b\noutputFormat: {x: {}}":                               "must have a field with reply: true",
		"name: a\nprompt: b\noutputFormat: {x: {replay: true}}":                   "outputFormat.x",
		"name: a\nprompt: b\noutputFormat:\n  x: {reply: true}\n  x: {type: a}\n": "twice",
	} {
		if _, err := Decode("x", []byte(text)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: got %v, want %q", text, err, problem)
		}
	}
	for text, want := range map[string]*int32{"-1": nil, ".nan": nil, "1e99": nil, "0": new(int32)} {
		got, err := Decode("x", []byte("name: a\nprompt: b\noutputFormatRetries: "+text+"\noutputFormat: {x: {reply: true}}"))
		if err != nil || !cmp.Equal(got.OutputFormat.Retries, want) {
			t.Errorf("retries %s: got %v %v", text, got.OutputFormat, err)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cat.yaml": full, "dog.yml": "name: Dog\nprompt: Woof.", "cat.yml": full, "bad.yaml": "name: x", "notes.txt": "x", ".hidden.yaml": full,
		"large.yaml": strings.Repeat("#", maxBytes+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, notes := Read(dir)
	var sources []string
	for _, p := range got {
		sources = append(sources, p.Source)
	}
	if diff := cmp.Diff([]string{"cat", "dog"}, sources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := strings.Join(notes, "\n")
	for _, want := range []string{"bad.yaml: prompt must be set", "cat.yml: there is another card", "large.yaml: may not be larger"} {
		if !strings.Contains(all, want) {
			t.Errorf("no note says %q: %s", want, all)
		}
	}
	if len(notes) != 3 {
		t.Errorf("notes %q", notes)
	}
	if got, notes := Read(filepath.Join(dir, "none")); got != nil || len(notes) != 1 {
		t.Errorf("got %v %v", got, notes)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add("outputFormat: [")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Decode("x", []byte(s))
		if err == nil && (p.Name == "" || p.Prompt == "") {
			t.Errorf("%q: got %+v", s, p)
		}
	})
}

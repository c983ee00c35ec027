// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "image.tar")
	common := []string{"--out", out, "--tag", "a:1", "--entrypoint", "/program"}
	for _, test := range []struct {
		name string
		args []string
		want string // part of the error; empty means success
	}{
		{"good", []string{source + "=/program", "--mode", "/program=0700", "--link", "/p=program", "--label", "a=b"}, ""},
		{"no target", []string{source}, "want SOURCE=/TARGET"},
		{"no file", nil, "requires at least 1 arg"},
		{"bad mode", []string{source + "=/program", "--mode", "/program=rwx"}, "octal mode"},
		{"mode of nothing", []string{source + "=/program", "--mode", "/other=0644"}, "/other is not the target"},
		{"bad link", []string{source + "=/program", "--link", "x"}, "want /PATH=TARGET"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := command()
			cmd.SetArgs(append(append([]string{}, common...), test.args...))
			cmd.SetErr(io.Discard)
			err := cmd.Execute()
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(out); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v; want %q", err, test.want)
			}
		})
	}
}

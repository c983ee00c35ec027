// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := run([]string{"--crds=../../config/crd/bases", dir}, os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"api.md": "## AgentInstance", "modules.md": "## agent", "kubectl-aalis.md": "## explain"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), want) {
			t.Errorf("%s does not have %q", name, want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no directory":    {nil, "must be given one directory, got 0"},
		"two directories": {[]string{"a", "b"}, "must be given one directory, got 2"},
		"unknown flag":    {[]string{"--x"}, "not defined"},
		"no CRDs":         {[]string{"--crds=" + t.TempDir(), "a"}, "there is no *.yaml file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if err := run(tc.args, &stderr); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	bad := write("bad.yaml", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: 1\n")
	crds := "--crds=../../config/crd/bases"
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"no file":        {nil, 2, "", "usage: manifestcheck"},
		"unknown flag":   {[]string{"--x"}, 2, "", "not defined"},
		"good":           {[]string{crds, good}, 0, "good.yaml: 1 objects ok\n", ""},
		"bad":            {[]string{crds, bad}, 1, "", `bad.yaml: document 1 (line 1): ConfigMap/a: unknown field "x"`},
		"both":           {[]string{crds, bad, good}, 1, "good.yaml: 1 objects ok\n", "bad.yaml: document 1"},
		"missing file":   {[]string{crds, filepath.Join(dir, "none.yaml")}, 1, "", "none.yaml"},
		"missing schema": {[]string{"--crds=" + dir + "/none", good}, 1, "", "loading the CRDs"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(context.Background(), tc.args, &stdout, &stderr); code != tc.code {
				t.Errorf("want exit code %d, got %d: %s", tc.code, code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("unexpected output\nstdout: %s\nstderr: %s", stdout.String(), stderr.String())
			}
		})
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"runtime/host", "runtime/plugins/taken"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "runtime/host/plugins.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"good":       {[]string{"--root", root, "echo"}, ""},
		"no name":    {[]string{"--root", root}, "must be given the short name of one plugin, got 0 arguments"},
		"two names":  {[]string{"--root", root, "a", "b"}, "got 2 arguments"},
		"bad name":   {[]string{"--root", root, "Bad Name"}, "the name must be"},
		"taken":      {[]string{"--root", root, "taken"}, "there is a plugin taken already"},
		"other root": {[]string{"--root", filepath.Join(root, "runtime"), "echo2"}, "--root must be the root"},
		"odd flag":   {[]string{"--force", "echo"}, "not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, usage strings.Builder
			err := run(tc.args, &out, &usage)
			if tc.want == "" {
				if err != nil || !strings.Contains(out.String(), "runtime/host/plugins.go") {
					t.Errorf("got %v\n%s", err, out.String())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	s, err := parse([]string{
		"--runtime-image=aalis:1", "--allowed-images=a/*, b:*,", "--namespaces=x,y", "--dns-cidrs=169.254.20.10/32",
		"--leader-elect", "--log-level=debug", "--concurrency=4",
	})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options
	if o.Render.RuntimeImage != "aalis:1" || !o.LeaderElection || o.Concurrency != 4 || s.logLevel != slog.LevelDebug {
		t.Errorf("settings %+v", s)
	}
	if diff := cmp.Diff([]string{"a/*", "b:*"}, o.Render.AllowedImages); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y"}, o.Namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if len(o.Render.DNS) != 1 || o.Render.DNS[0].String() != "169.254.20.10/32" {
		t.Errorf("DNS %v", o.Render.DNS)
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no image":     {nil, "--runtime-image must be given"},
		"concurrency":  {[]string{"--runtime-image=a", "--concurrency=0"}, "--concurrency must be between"},
		"DNS":          {[]string{"--runtime-image=a", "--dns-cidrs=10.0.0.1"}, "--dns-cidrs must be address ranges"},
		"log level":    {[]string{"--runtime-image=a", "--log-level=loud"}, "log-level"},
		"unknown flag": {[]string{"--runtime-imag=a"}, "runtime-imag"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if s, err := parse([]string{"--version"}); err != nil || !s.version {
		t.Errorf("--version needs nothing else: %v", err)
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"flag"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for why, o := range map[string]Options{
		"":                                   {},
		" ":                                  {Endpoint: "http://collector:4318", Ratio: 0.5, Content: true},
		`got "collector:4318"`:               {Endpoint: "collector:4318"},
		`got "grpc://collector"`:             {Endpoint: "grpc://collector"},
		"may hold no credentials":            {Endpoint: "http://user:secret@collector"},
		"no query":                           {Endpoint: "http://collector?x=1"},
		"--tracing-ratio must be from 0":     {Endpoint: "http://collector", Ratio: 1.5},
		"--tracing-content needs":            {Content: true},
		"--tracing-ratio must be from 0 to ": {Ratio: -1},
	} {
		err := o.Check()
		if strings.TrimSpace(why) == "" {
			if err != nil {
				t.Errorf("%+v: %v", o, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%+v: %v, want %q", o, err, why)
		}
	}
}

// TestArgs: what the operator hands on is what the runtime reads.
func TestArgs(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Ratio: 1}, {Endpoint: "http://collector:4318", Ratio: 0.25}, {Endpoint: "https://c/x", Ratio: 1e-7, Content: true}} {
		var back Options
		flags := flag.NewFlagSet("x", flag.ContinueOnError)
		back.Flags(flags)
		if err := flags.Parse(o.Args()); err != nil || back != o {
			t.Errorf("%+v became %+v, %v", o, back, err)
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cases is how many numbered cases each section of the kernel's behaviour has: 8.1 events, hooks, services and
// contributions, 8.2 teardown and activation races, 8.3 manager and App, 8.4 config, schema and host.
var cases = map[string]int{"8.1": 25, "8.2": 19, "8.3": 19, "8.4": 9}

// elsewhere names the tests of those cases that are not the kernel's own: they are about files, processes and terminals.
var elsewhere = map[string][]string{
	"8.4.3": {
		"../host/filewatch/filewatch_test.go TestAtomicRename", "../host/filewatch/filewatch_test.go TestBurstIsOneCall",
		"../host/filewatch/filewatch_test.go TestPollFindsWhatWasMissing", "../host/local_test.go TestLocalEdits",
	},
	"8.4.4": {"../host/manifest/manifest_test.go TestLoadErrors", "../host/runner_test.go TestRejectedKeepsTheOld"},
	"8.4.7": {"../host/local_test.go TestLocalOnce"},
}

// TestEveryCaseIsNamed checks that each numbered case has a test that names it, here or in package schema.
func TestEveryCaseIsNamed(t *testing.T) {
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "../recompute/*_test.go", "../schema/*_test.go"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, name := range files {
			if name == "cases_test.go" {
				continue
			}
			data, err := os.ReadFile(name)
			must(t, err)
			tests.Write(data)
		}
	}
	for section, n := range cases {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s.%d", section, i)
			named := regexp.MustCompile(`\b` + regexp.QuoteMeta(id) + `\b[^.]`).MatchString(tests.String())
			switch others, ok := elsewhere[id]; {
			case ok:
				for _, other := range others {
					wantTest(t, id, other)
				}
			case !named:
				t.Errorf("no test names %s", id)
			}
		}
	}
}

// wantTest checks that "file function" is a test.
func wantTest(t *testing.T, id, where string) {
	t.Helper()
	file, function, _ := strings.Cut(where, " ")
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "func "+function+"(") {
		t.Errorf("%s is said to be tested by %s, which is not there (%v)", id, where, err)
	}
}

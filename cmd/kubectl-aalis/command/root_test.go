// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	root := command.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, "v1.2.3")
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHelpNamesThePlugin(t *testing.T) {
	out, err := run(t, "chat", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kubectl aalis chat NAME", "--session", "--person", "--namespace", "--kubeconfig", "--context"} {
		if !strings.Contains(out, want) {
			t.Errorf("help has no %q:\n%s", want, out)
		}
	}
}

func TestVersion(t *testing.T) {
	if out, err := run(t, "--version"); err != nil || !strings.Contains(out, "v1.2.3") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestMistakes(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no name":         {[]string{"chat"}, "requires at least 1 arg"},
		"unknown command": {[]string{"dance"}, "unknown command"},
		"no cluster":      {[]string{"chat", "hello", "--server", "http://127.0.0.1:1"}, "AgentInstance"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestCompletionWithNoCluster(t *testing.T) {
	out, err := run(t, "__complete", "chat", "--server", "http://127.0.0.1:1", "")
	if err != nil || !strings.Contains(out, ":4") {
		t.Errorf("completion must end with no names and no files, got %q, %v", out, err)
	}
}

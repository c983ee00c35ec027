// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectl tests the commands of kubectl aalis against a real kube-apiserver with the real operator, as an ordinary
// person with the cluster's role view or edit. make test-envtest runs it.
package kubectl

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

var env testenv.Environment

func TestMain(m *testing.M) { os.Exit(env.Run(m)) }

// person runs commands with a kubeconfig in a namespace.
type person struct {
	kubeconfig, namespace string
}

// said is what a command did.
type said struct {
	out, err string
	code     int
}

func (p person) run(t *testing.T, args ...string) said {
	t.Helper()
	var out, errOut bytes.Buffer
	root := command.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "test")
	// Completion wants what is to be completed at the end.
	root.SetArgs(slices.Insert(args, 1, "--kubeconfig", p.kubeconfig, "-n", p.namespace))
	code, message := command.Exit(root.ExecuteContext(t.Context()))
	return said{out: out.String(), err: errOut.String() + message, code: code}
}

// want fails unless the command ended with the status and said all of this.
func (s said) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("exit status %d, want %d\n%s%s", s.code, code, s.out, s.err)
	}
	for _, text := range texts {
		if !strings.Contains(s.out+s.err, text) {
			t.Errorf("no %q in\n%s%s", text, s.out, s.err)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

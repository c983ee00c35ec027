// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type broken struct{}

func (broken) Lookup(Key) (string, error) { return "", errors.New("no permission") }

func TestRead(t *testing.T) {
	k := Key{Name: "llm", Key: "api-key"}
	tests := map[string]struct {
		raw       string
		multiline bool
		text      string
		trimmed   bool
		problem   string
	}{
		"plain":             {raw: "sk-1", text: "sk-1"},
		"line break":        {raw: "sk-1\n", text: "sk-1", trimmed: true},
		"windows breaks":    {raw: "sk-1\r\n\r\n", text: "sk-1", trimmed: true},
		"blanks stay":       {raw: " sk 1 ", text: " sk 1 "},
		"break inside":      {raw: "sk\n1\n", problem: "the value has a line break inside; it must be one line"},
		"return inside":     {raw: "sk\r1", problem: "the value has a line break inside; it must be one line"},
		"break allowed":     {raw: "a: 1\nb: 2\n", multiline: true, text: "a: 1\nb: 2", trimmed: true},
		"empty":             {raw: "", problem: "the value is empty"},
		"only breaks":       {raw: "\n\n", problem: "the value is empty"},
		"empty, many lines": {raw: "\n", multiline: true, problem: "the value is empty"},
		"not UTF-8":         {raw: "\xff", problem: "the value is not UTF-8 text"},
		"too long":          {raw: strings.Repeat("x", MaxBytes+1), problem: "longer than 1048576 bytes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := Read(Map{k: tc.raw}, k, tc.multiline)
			var problem *ProblemError
			switch {
			case tc.problem == "":
				if err != nil || v.Text != tc.text || v.Trimmed != tc.trimmed {
					t.Errorf("got %+v, %v", v, err)
				}
			case !errors.As(err, &problem) || !strings.HasPrefix(err.Error(), "Secret llm key api-key: ") || !strings.Contains(err.Error(), tc.problem):
				t.Errorf("got %v", err)
			case v.Text != "":
				t.Error("a value came with the error")
			}
		})
	}
	if _, err := Read(Map{}, k, false); !errors.Is(err, ErrAbsent) {
		t.Errorf("absent: got %v", err)
	}
	if _, err := Read(broken{}, k, false); err == nil || err.Error() != "Secret llm key api-key: the value cannot be read: no permission" {
		t.Errorf("unreadable: got %v", err)
	}
}

func TestChain(t *testing.T) {
	a, b := Key{Name: "a", Key: "k"}, Key{Name: "b", Key: "k"}
	c := Chain{Map{a: "1"}, Map{a: "2", b: "3"}}
	for k, want := range map[Key]string{a: "1", b: "3"} {
		if got, err := c.Lookup(k); got != want || err != nil {
			t.Errorf("%v: got %q, %v", k, got, err)
		}
	}
	if _, err := c.Lookup(Key{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if _, err := (Chain{broken{}, Map{a: "1"}}).Lookup(a); err == nil {
		t.Error("a source that failed was passed over")
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"llm", "..data", "llm/sub"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"llm/api-key": "v\n", "..data/k": "x", "file": "x", "llm/big": strings.Repeat("x", MaxBytes+10)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := Dir(dir).Lookup(Key{Name: "llm", Key: "api-key"}); v != "v\n" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	if v, err := Dir(dir).Lookup(Key{Name: "llm", Key: "big"}); len(v) != MaxBytes+1 || err != nil {
		t.Errorf("got %d bytes, %v", len(v), err)
	}
	for _, path := range [][2]string{
		{"llm", "none"}, {"none", "k"}, {"..data", "k"}, {"..", "file"}, {"llm", ".."}, {".", "file"}, {"llm/..", "file"},
		{"", "file"}, {"file", ""}, {"file", "x"}, {"llm", "../file"}, {"llm", "a\x00b"},
	} {
		if v, err := Dir(dir).Lookup(Key{Name: path[0], Key: path[1]}); !errors.Is(err, ErrAbsent) {
			t.Errorf("%q: got %q, %v", path, v, err)
		}
	}
	_, err := Dir(dir).Lookup(Key{Name: "llm", Key: "sub"})
	if err == nil || errors.Is(err, ErrAbsent) || strings.Contains(err.Error(), dir) {
		t.Errorf("a directory: got %v", err)
	}
}

func TestEnv(t *testing.T) {
	k := Key{Name: "my.llm-1", Key: "api_key"}
	if got := EnvName(k); got != "AALIS_SECRET_MY_LLM_1_API_KEY" {
		t.Errorf("got %s", got)
	}
	env := Env{LookupEnv: func(n string) (string, bool) { return "v", n == "AALIS_SECRET_MY_LLM_1_API_KEY" }}
	if v, err := env.Lookup(k); v != "v" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	if _, err := env.Lookup(Key{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
}

func TestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from file"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(n string) (string, bool) { return "from env", n == "KEY" }
	f, err := ParseFlags([]string{"a/k=file:" + file, "b/k=env:KEY", "c/k=env:OTHER", "d/k=file:/nowhere/x"}, env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "from file", "b": "from env"} {
		if v, err := f.Lookup(Key{Name: name, Key: "k"}); v != want || err != nil {
			t.Errorf("%s: got %q, %v", name, v, err)
		}
	}
	for name, want := range map[string]string{"c": "the environment variable OTHER is not set", "d": "there is no file /nowhere/x"} {
		if _, err := f.Lookup(Key{Name: name, Key: "k"}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := f.Lookup(Key{Name: "e", Key: "k"}); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if dirs := f.Dirs(); len(dirs) != 2 {
		t.Errorf("got %v", dirs)
	}
}

func TestFlagsErrors(t *testing.T) {
	for value, want := range map[string]string{
		"llm":                    "must be NAME/KEY=file:PATH or NAME/KEY=env:VARIABLE",
		"llm=sk-secret":          "must be NAME/KEY=file:PATH",
		"llm/key":                "must be NAME/KEY=file:PATH",
		"/key=env:X":             "must be NAME/KEY=file:PATH",
		"llm/key=sk-secret":      "never the value itself",
		"llm/key=file:":          "never the value itself",
		"llm/key=http:sk-secret": "never the value itself",
	} {
		_, err := ParseFlags([]string{value}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: got %v", value, err)
		}
	}
	if _, err := ParseFlags([]string{"a/k=env:X", "a/k=env:Y"}, nil); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseFlags(f *testing.F) {
	f.Add("a/k=env:X")
	f.Add("a/k=file:/x=y")
	f.Fuzz(func(t *testing.T, value string) {
		flags, err := ParseFlags([]string{value}, func(string) (string, bool) { return "", false })
		if err == nil && len(flags.refs) != 1 {
			t.Errorf("got %v", flags.refs)
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package output_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
)

func TestFormats(t *testing.T) {
	for text, ok := range map[string]bool{"": true, "json": true, "yaml": true, "xml": false, "JSON": false} {
		if _, err := output.Parse(text); (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
	}
	value := map[string]any{"b": []int{1}, "a": "x"}
	for f, want := range map[output.Format]string{
		output.JSON: "{\n  \"a\": \"x\",\n  \"b\": [\n    1\n  ]\n}\n", output.YAML: "a: x\nb:\n- 1\n",
	} {
		var b strings.Builder
		if err := output.Encode(&b, f, value); err != nil || b.String() != want {
			t.Errorf("got %q, %v", b.String(), err)
		}
	}
	for f, want := range map[output.Format]string{
		output.YAML: "---\na: x\nb:\n- 1\n---\n2\n", output.Text: "---\na: x\nb:\n- 1\n---\n2\n",
		output.JSON: "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n    {\n      \"a\": \"x\",\n      \"b\": [\n        1\n      ]\n    },\n    2\n  ],\n  \"kind\": \"List\"\n}\n",
	} {
		var b strings.Builder
		if err := output.Documents(&b, f, []any{value, 2}); err != nil || b.String() != want {
			t.Errorf("got %q, %v", b.String(), err)
		}
	}
	if err := output.Encode(&strings.Builder{}, output.JSON, func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := output.Table(&b, []string{"A", "B"}, [][]string{{"long one", ""}, {"x", "two\nlines\t\x1b[31m"}}); err != nil {
		t.Fatal(err)
	}
	if want := "A          B\nlong one   -\nx          two lines ^[[31m\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	if got := output.Age(now, now.Add(-90*time.Minute)); got != "90m" {
		t.Errorf("got %s", got)
	}
	if got := output.Age(now, time.Time{}); got != "" {
		t.Errorf("got %s", got)
	}
}

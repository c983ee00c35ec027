// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/logs"
)

func TestCopy(t *testing.T) {
	var asked []string
	open := func(_ context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		tail, since := int64(-1), int64(0)
		if o.TailLines != nil {
			tail = *o.TailLines
		}
		if o.SinceSeconds != nil {
			since = *o.SinceSeconds
		}
		asked = append(asked, fmt.Sprintf("%s/%s follow=%v previous=%v tail=%d since=%d", pod, o.Container, o.Follow, o.Previous, tail, since))
		if pod == "broken" {
			return nil, errors.New("no right")
		}
		return io.NopCloser(strings.NewReader("one\ntwo of " + pod)), nil
	}
	tests := map[string]struct {
		pods      []string
		options   logs.Options
		out, fail string
		asked     string
	}{
		"one": {pods: []string{"a"}, options: logs.Options{Tail: -1}, out: "one\ntwo of a\n", asked: "a/kernel follow=false previous=false tail=-1 since=0"},
		"two, one of them broken": {pods: []string{"a", "broken", "b"}, options: logs.Options{Tail: 5, SinceSeconds: 9, Previous: true},
			out: "[a] one\n[a] two of a\n[b] one\n[b] two of b\n", fail: "pod broken: no right",
			asked: "a/kernel follow=false previous=true tail=5 since=9"},
		"none": {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			asked = nil
			var out bytes.Buffer
			err := logs.Copy(t.Context(), open, tc.pods, tc.options, &out)
			if tc.fail == "" && err != nil || tc.fail != "" && (err == nil || !strings.Contains(err.Error(), tc.fail)) {
				t.Errorf("got %v, want %q", err, tc.fail)
			}
			if out.String() != tc.out || tc.asked != "" && asked[0] != tc.asked {
				t.Errorf("got %q, asked %v", out.String(), asked)
			}
		})
	}
}

// TestFollow: the lines of several pods that are followed stay whole.
func TestFollow(t *testing.T) {
	const pods, each = 4, 200
	var names []string
	for i := range pods {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	open := func(_ context.Context, pod string, _ *corev1.PodLogOptions) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.Repeat(pod+"-"+pod+"\n", each))), nil
	}
	var out bytes.Buffer
	if err := logs.Copy(t.Context(), open, names, logs.Options{Follow: true}, &out); err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(out.String()) {
		ok := slices.ContainsFunc(names, func(p string) bool { return line == "["+p+"] "+p+"-"+p+"\n" })
		if !ok {
			t.Fatalf("a broken line %q", line)
		}
		count++
	}
	if count != pods*each {
		t.Errorf("%d lines", count)
	}
}

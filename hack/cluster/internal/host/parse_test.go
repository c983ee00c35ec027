// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mountinfo = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:31 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu
32 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
33 30 0:31 /docker/abc /mnt/part rw - cgroup cgroup rw,cpu
40 27 0:40 / /state/a rw - tmpfs tmpfs rw
41 40 0:41 / /state/a/b\040c rw - tmpfs tmpfs rw
42 27 0:42 / /stateful rw - tmpfs tmpfs rw
43 27 0:3 net:[4026532000] /run/x/netns/1 rw - nsfs nsfs rw
short line
`

func TestMountsBelow(t *testing.T) {
	for _, test := range []struct {
		name    string
		folders []string
		want    []string
	}{
		{"innermost first", []string{"/state"}, []string{"/state/a/b c", "/state/a"}},
		{"the folder itself", []string{"/state/a"}, []string{"/state/a/b c", "/state/a"}},
		{"two folders", []string{"/state", "/run/x"}, []string{"/run/x/netns/1", "/state/a/b c", "/state/a"}},
		{"none", []string{"/nothing"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mountsBelow(mountinfo, test.folders)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzMountsBelow(f *testing.F) {
	f.Add(mountinfo)
	f.Add(`1 2 3 / /state/\1 rw`)
	f.Fuzz(func(_ *testing.T, text string) {
		mountsBelow(text, []string{"/state"})
		parseHierarchies(text)
	})
}

func TestParseHierarchies(t *testing.T) {
	want := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"}
	if diff := cmp.Diff(want, parseHierarchies(mountinfo)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`/a\040b`: "/a b", `/a\134b`: `/a\b`, `/plain`: "/plain", `/end\04`: `/end\04`, `/x\999`: `/x\999`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("%q: got %q; want %q", in, got, want)
		}
	}
}

func TestLinkNames(t *testing.T) {
	for _, test := range []struct {
		name, dump string
		want       []string
		bad        bool
	}{
		{"none", "", nil, false},
		{"an empty list", "[]", nil, false},
		{"two, and what a filter left empty", `[{"ifindex":5,"ifname":"veth1"},{},{"ifname":"veth2"}]`, []string{"veth1", "veth2"}, false},
		{"no JSON", "veth1", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := linkNames(test.dump)
			if (err != nil) != test.bad {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckAddresses(t *testing.T) {
	if err := CheckAddresses([]string{"127.0.0.0/8"}, nil); err == nil {
		t.Error("the loopback interface's own range was not refused")
	}
	if err := CheckAddresses([]string{"127.0.0.0/8"}, []string{"lo"}); err != nil {
		t.Errorf("an interface of the cluster's own: %v", err)
	}
	if err := CheckAddresses([]string{"203.0.113.0/24"}, nil); err != nil {
		t.Errorf("a range that nobody uses: %v", err)
	}
}

func TestMissingPackages(t *testing.T) {
	got := MissingPackages([]Package{
		{"shell", "sh"}, {"shell by file", "/bin/sh"}, {"no command", "no-such-command-here"}, {"no file", "/no/such/file"},
	})
	if diff := cmp.Diff([]string{"no command", "no file"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

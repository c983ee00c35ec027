// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   Env
		state string
		cache string
	}{
		{"home alone", Env{Home: "/h"}, "/h/.local/state/aalis-operator/cluster", "/h/.cache/aalis-operator"},
		{"XDG", Env{Home: "/h", CacheHome: "/c", StateHome: "/s"}, "/s/aalis-operator/cluster", "/c/aalis-operator"},
		{"own folder", Env{Home: "/h", ClusterDir: "/x/y"}, "/x/y", "/h/.cache/aalis-operator"},
		{"no home needed", Env{CacheHome: "/c", StateHome: "/s"}, "/s/aalis-operator/cluster", "/c/aalis-operator"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := New("/repo", test.env)
			if err != nil {
				t.Fatal(err)
			}
			if l.State != test.state || l.Cache != test.cache {
				t.Errorf("state %s, cache %s; want %s, %s", l.State, l.Cache, test.state, test.cache)
			}
		})
	}
}

func TestRefusedFolders(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string]Env{
		"no home":                    {},
		"the root folder":            {Home: "/h", ClusterDir: "/"},
		"a top folder":               {Home: "/h", ClusterDir: "/etc"},
		"the home folder":            {Home: "/home/me", ClusterDir: "/home/me/"},
		"a folder with other things": {Home: "/h", ClusterDir: full},
	} {
		if _, err := New("/repo", env); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := os.WriteFile(filepath.Join(full, Marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New("/repo", Env{Home: "/h", ClusterDir: full}); err != nil {
		t.Errorf("a cluster's folder: %v", err)
	}
}

func TestAddressesFit(t *testing.T) {
	l, err := New("/repo", Env{Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	pods, services := netip.MustParsePrefix(ClusterCIDR), netip.MustParsePrefix(ServiceCIDR)
	if pods.Overlaps(services) {
		t.Error("pods and services overlap")
	}
	for _, ip := range []string{ServiceIP, DNSIP} {
		if !services.Contains(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not in %s", ip, services)
		}
	}
	seen := map[string]string{}
	for _, n := range l.WithNodes(MaxNodes).Nodes {
		for what, value := range map[string]string{
			"name": n.Name, "bridge": n.Bridge, "address": n.Address, "range": n.PodCIDR, "folder": n.Dir, "sockets": n.RunDir,
			"cgroup": n.CgroupRoot, "kubelet": n.Component("kubelet"),
		} {
			if other, taken := seen[what+value]; taken {
				t.Errorf("nodes %s and %s have the same %s %s", other, n.Name, what, value)
			}
			seen[what+value] = n.Name
		}
		own := netip.MustParsePrefix(n.PodCIDR)
		if !pods.Contains(own.Addr()) || !own.Contains(netip.MustParseAddr(n.Address)) {
			t.Errorf("node %s: %s, %s, %s do not fit", n.Name, pods, own, n.Address)
		}
		if !strings.HasPrefix(n.Gateway, n.Address+"/") {
			t.Errorf("node %s: gateway %s is not %s", n.Name, n.Gateway, n.Address)
		}
		// containerd adds a suffix to its socket's name for its other protocol.
		if socket := n.Socket() + ".ttrpc"; len(socket) > 107 {
			t.Errorf("socket %s is too long", socket)
		}
		if len(n.Bridge) > 15 {
			t.Errorf("bridge name %s is too long", n.Bridge)
		}
		checkLink(t, n, pods)
	}
}

// checkLink checks that a link's addresses are in the cluster's range, so that they are not translated, and in no pod range.
func checkLink(t *testing.T, n Node, pods netip.Prefix) {
	t.Helper()
	if n.Link == nil {
		if got := n.Enter("kubelet", "--x"); len(got) != 2 {
			t.Errorf("node %s starts %v", n.Name, got)
		}
		return
	}
	own, near := netip.MustParsePrefix(n.PodCIDR), netip.MustParseAddr(n.Link.Near)
	between, err := near.Prefix(n.Link.Prefix)
	if err != nil || !between.Contains(netip.MustParseAddr(n.Link.Far)) || !pods.Contains(near) || own.Overlaps(between) {
		t.Errorf("node %s: link %+v does not fit to %s and %s: %v", n.Name, n.Link, pods, own, err)
	}
	if len(n.Link.Name) > 15 {
		t.Errorf("interface name %s is too long", n.Link.Name)
	}
	if got := n.Enter("kubelet", "--x"); got[0] != "nsenter" || got[len(got)-1] != "--x" {
		t.Errorf("node %s starts %v", n.Name, got)
	}
}

func TestWithNodes(t *testing.T) {
	l, err := New("/repo", Env{Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	for count, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 9: MaxNodes} {
		if got := len(l.WithNodes(count).Nodes); got != want {
			t.Errorf("%d nodes wanted, %d made; want %d", count, got, want)
		}
	}
	if l.Main() != l.WithNodes(2).Nodes[0] {
		t.Error("a second node changes the first")
	}
}

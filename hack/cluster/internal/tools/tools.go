// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools makes sure that the cluster's binaries exist: it builds them
// from the pinned modules in hack/tools, once, into a cache outside the work
// tree, in a folder whose name has the version and a hash of the pins.
//
// It is called by the binaries and up commands of hack/cluster. It downloads
// nothing but Go modules, and never changes a pin.
package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Module is one tool module of hack/tools: a go.mod of its own that pins one
// upstream project.
type Module struct {
	// Dir is the folder's name below hack/tools; it also names the cache folder.
	Dir string
	// Upstream is the module whose version is the tool's version.
	Upstream string
	// Binaries are built in this order.
	Binaries []Binary
	// LDFlags are added to -s -w; %[1]s is the version, %[2]s and %[3]s its
	// major and minor numbers.
	LDFlags string
}

// Binary is one command of a Module.
type Binary struct {
	// Name is the file's name in the cache.
	Name string
	// Package is the import path, or "." for a main package in the tool module.
	Package string
}

// Modules returns all tool modules of the cluster, the quick builds first.
func Modules() []Module {
	const version = "k8s.io/component-base/version"
	return []Module{
		{Dir: "etcd", Upstream: "go.etcd.io/etcd/server/v3", Binaries: []Binary{
			{"etcd", "go.etcd.io/etcd/server/v3"},
		}},
		{
			Dir: "kubernetes", Upstream: "k8s.io/kubernetes",
			Binaries: []Binary{
				{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
				{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
				{"kubelet", "k8s.io/kubernetes/cmd/kubelet"},
				{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
				{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
				{"kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"},
			},
			LDFlags: "-X " + version + ".gitVersion=%[1]s -X " + version + ".gitMajor=%[2]s -X " + version + ".gitMinor=%[3]s",
		},
		{Dir: "coredns", Upstream: "github.com/coredns/coredns", Binaries: []Binary{{"coredns", "."}}},
		{Dir: "local-path", Upstream: "github.com/rancher/local-path-provisioner", Binaries: []Binary{
			{"local-path-provisioner", "github.com/rancher/local-path-provisioner"},
		}},
		{Dir: "kube-router", Upstream: "github.com/cloudnativelabs/kube-router/v2", Binaries: []Binary{{"kube-router", "."}}},
	}
}

// Envtest returns the modules cut down to what envtest needs.
func Envtest() []Module {
	need := []string{"etcd", "kube-apiserver", "kubectl"}
	var out []Module
	for _, m := range Modules() {
		m.Binaries = slices.DeleteFunc(slices.Clone(m.Binaries), func(b Binary) bool {
			return !slices.Contains(need, b.Name)
		})
		if len(m.Binaries) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// pinned is a Module as it is pinned right now.
type pinned struct {
	Module
	source  string // folder of the tool module
	version string // of the upstream module, with its v
	ldflags string
	key     string // name of the cache folder
}

// pin reads a module's pins from the source tree.
func pin(repo string, m Module) (pinned, error) {
	p := pinned{Module: m, source: filepath.Join(repo, "hack", "tools", m.Dir)}
	gomod, err := os.ReadFile(filepath.Join(p.source, "go.mod"))
	if err != nil {
		return pinned{}, fmt.Errorf("reading the pins of %s: %w", m.Dir, err)
	}
	if p.version, err = requiredVersion(string(gomod), m.Upstream); err != nil {
		return pinned{}, fmt.Errorf("pins of %s: %w", m.Dir, err)
	}
	p.ldflags = "-s -w"
	if m.LDFlags != "" {
		major, minor := majorMinor(p.version)
		p.ldflags += " " + fmt.Sprintf(m.LDFlags, p.version, major, minor)
	}
	sum, err := hashSource(p.source, runtime.GOOS, runtime.GOARCH, p.ldflags)
	if err != nil {
		return pinned{}, fmt.Errorf("hashing the pins of %s: %w", m.Dir, err)
	}
	p.key = fmt.Sprintf("%s-%s-%s", m.Dir, p.version, sum[:12])
	return p, nil
}

// requiredVersion finds the version of a module in the text of a go.mod.
func requiredVersion(gomod, module string) (string, error) {
	line := regexp.MustCompile(`(?m)^(?:require\s+|\s+)` + regexp.QuoteMeta(module) + `\s+(v[^\s]+)`)
	match := line.FindStringSubmatch(gomod)
	if match == nil {
		return "", fmt.Errorf("go.mod does not require %s", module)
	}
	return match[1], nil
}

func majorMinor(version string) (major, minor string) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return parts[0], ""
	}
	return parts[0], parts[1]
}

// hashSource covers everything that decides what a build gives, except the Go
// release: a new patch release must not cost a ten minutes' build.
func hashSource(dir string, extra ...string) (string, error) {
	files := []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	slices.Sort(sources)
	h := sha256.New()
	for _, file := range append(files, sources...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n", filepath.Base(file), len(data)) // a hash never fails
		_, _ = h.Write(data)
	}
	for _, s := range extra {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

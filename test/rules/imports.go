// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strconv"
	"strings"
)

// module is the path of this module.
const module = "github.com/aalis-dev/aalis-operator"

// importRule says what the packages under a folder may import. Paths of this module are written from its root; other
// paths are whole.
type importRule struct {
	folder string
	// only lists everything outside the standard library that is allowed; nil allows all that never does not name.
	only []string
	// never lists what is forbidden.
	never []string
}

// importTable is the import table of CONTRIBUTING.md. The first rule whose folder holds a file counts. Tests are free.
var importTable = []importRule{
	{folder: "api", only: []string{"k8s.io/apimachinery", "k8s.io/api", "api"}},
	{folder: "runtime/recompute", only: []string{}},
	{folder: "runtime/kernelconfig", only: []string{"runtime/kernelconfig", "runtime/schema", "runtime/catalog"}},
	{folder: "runtime/schema", only: []string{"runtime/kernelconfig", "runtime/schema", "runtime/catalog"}},
	{folder: "runtime/catalog", only: []string{"runtime/kernelconfig", "runtime/schema", "runtime/catalog"}},
	{folder: "runtime/kernel", only: []string{"runtime/recompute", "runtime/schema", "runtime/kernel"}},
	{folder: "runtime/money", only: []string{}},
	{folder: "runtime/telemetry", only: []string{}},
	{folder: "runtime/usagebook", only: []string{}},
	{folder: "runtime/budget", only: []string{"runtime/budget", "runtime/kernelconfig", "runtime/money"}},
	{folder: "runtime/contract", only: []string{"runtime/kernel", "runtime/contract", "runtime/kernelconfig", "runtime/scope", "runtime/usagebook"}},
	{folder: "runtime/plugins", never: []string{"runtime/host", "controllers", "api", "cmd", "k8s.io", "sigs.k8s.io/controller-runtime"}},
	{folder: "runtime/host", never: []string{"sigs.k8s.io/controller-runtime", "cmd"}},
	{folder: "controllers/compose", never: pipelineNever},
	{folder: "controllers/plan", never: pipelineNever},
	{folder: "controllers/render", never: pipelineNever},
	{folder: "controllers", never: operatorNever},
	{folder: "cmd/aalis-operator", never: operatorNever},
	{folder: "cmd/aalis", never: []string{"sigs.k8s.io/controller-runtime"}},
}

var (
	operatorNever = []string{"runtime/kernel", "runtime/host", "runtime/plugins"}
	pipelineNever = append([]string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go"}, operatorNever...)
)

// Imports finds imports that the import table forbids, and plugins that import each other.
func Imports(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		if f.Test() {
			continue
		}
		rule, ok := ruleFor(f)
		if !ok {
			continue
		}
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			imported = strings.TrimPrefix(imported, module+"/")
			if !rule.allows(imported) || foreignPlugin(f, imported) {
				out = append(out, f.finding(spec.Pos(), "%s may not import %s", rule.folder, imported))
			}
		}
	}
	return out
}

func ruleFor(f GoFile) (importRule, bool) {
	for _, rule := range importTable {
		if f.Under(rule.folder) {
			return rule, true
		}
	}
	return importRule{}, false
}

func (r importRule) allows(imported string) bool {
	if within(imported, r.never) {
		return false
	}
	return r.only == nil || standard(imported) || within(imported, r.only)
}

// foreignPlugin says whether a plugin imports another one.
func foreignPlugin(f GoFile, imported string) bool {
	const folder = "runtime/plugins/"
	own, isPlugin := strings.CutPrefix(f.Path, folder)
	other, ofPlugin := strings.CutPrefix(imported, folder)
	if !isPlugin || !ofPlugin {
		return false
	}
	own, _, _ = strings.Cut(own, "/")
	other, _, _ = strings.Cut(other, "/")
	return own != other
}

// standard says whether a path is of the standard library: its first element has no dot, and it is none of ours.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	switch first {
	case "api", "cmd", "controllers", "hack", "runtime", "test":
		// The standard library has runtime and its sub-packages too, which ours never repeat.
		return imported == "runtime" || imported == "runtime/debug" || imported == "runtime/metrics"
	}
	return !strings.Contains(first, ".")
}

func within(imported string, folders []string) bool {
	for _, folder := range folders {
		if imported == folder || strings.HasPrefix(imported, folder+"/") {
			return true
		}
	}
	return false
}

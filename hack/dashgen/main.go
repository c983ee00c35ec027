// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dashgen writes the Grafana dashboards: one of the tenants, one of a bot, one of the operator. A dashboard is rows of
// panels, a panel a title, a unit and queries; the rest is the same for all and is filled in here.
//
//	go run ./hack/dashgen config/monitoring/dashboards
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/dashgen FOLDER")
		os.Exit(2)
	}
	for _, d := range dashboards() {
		if err := write(filepath.Join(os.Args[1], d.UID+".json"), d); err != nil {
			fmt.Fprintln(os.Stderr, "dashgen:", err)
			os.Exit(1)
		}
	}
}

func write(file string, d dashboard) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d.model()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a folder of the source tree
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // a source file
}

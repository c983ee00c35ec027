// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/host"
)

// catalog prints the shipped modules.
func (p process) catalog() int {
	flags := flag.NewFlagSet("aalis catalog", flag.ContinueOnError)
	flags.SetOutput(p.err)
	format := flags.String("o", "text", "output `format`: text or json")
	if _, code, ok := parse(flags, p.args, 0); !ok {
		return code
	}
	c, err := host.Catalog(host.Modules())
	if err == nil {
		err = printCatalog(p.out, c, *format)
	}
	if err != nil {
		_, _ = fmt.Fprintln(p.err, "aalis:", err)
		return host.ExitFailure
	}
	return host.ExitOK
}

func printCatalog(w io.Writer, c catalog.Catalog, format string) error {
	switch format {
	case "json":
		data, err := c.Encode()
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case "text":
		return catalogTable(w, c)
	}
	return fmt.Errorf("-o must be text or json, got %q", format)
}

func catalogTable(w io.Writer, c catalog.Catalog) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MODULE\tSTABILITY\tDEFAULT\tPROVIDES\tREQUIRES\tSUMMARY")
	for _, m := range c.Modules {
		name := m.ShortName
		if name == "" {
			name = m.Name
		}
		state := "off"
		if m.OnByDefault {
			state = "on"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", name, m.Stability, state,
			listed(m.Provides), listed(m.Required), m.Summary)
	}
	return table.Flush()
}

func listed(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ",")
}

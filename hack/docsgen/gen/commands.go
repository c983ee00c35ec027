// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands writes the page of the commands below a root: what each is for, its examples and its own flags. The flags that
// all have are those of kubectl and not listed.
func Commands(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# kubectl aalis\n\n" + generated)
	b.WriteString("Every command also takes kubectl's own flags, such as `--namespace`, `--context`, `--kubeconfig` and `--as`.\n\n")
	b.WriteString("| command | what it does |\n|---|---|\n")
	var commands []*cobra.Command
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" && cmd.Name() != "completion" {
			commands = append(commands, cmd)
		}
	}
	for _, cmd := range commands {
		b.WriteString("| [" + cmd.Name() + "](#" + cmd.Name() + ") | " + cell(cmd.Short) + " |\n")
	}
	b.WriteString("| completion | Writes the completion script of bash, zsh, fish or PowerShell |\n")
	for _, cmd := range commands {
		command(&b, cmd)
	}
	return b.String()
}

func command(b *strings.Builder, cmd *cobra.Command) {
	b.WriteString("\n## " + cmd.Name() + "\n\n```\n" + strings.TrimSuffix(cmd.UseLine(), " [flags]") + "\n```\n\n")
	b.WriteString(escape(cmd.Long) + "\n\n```sh\n")
	for line := range strings.Lines(cmd.Example) {
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	b.WriteString("\n```\n")
	rows := ""
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value := f.DefValue
		if value == "[]" {
			value = ""
		}
		rows += "| " + code(name) + " | " + code(value) + " | " + cell(f.Usage) + " |\n"
	})
	if rows != "" {
		b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n" + rows)
	}
}

// cell is a text in a table.
func cell(text string) string {
	return strings.ReplaceAll(escape(oneLine(text)), "|", `\|`)
}

// escape keeps Markdown from reading a text's own signs.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text)
}

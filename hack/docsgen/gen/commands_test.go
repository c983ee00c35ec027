// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCommands(t *testing.T) {
	root := &cobra.Command{Use: "kubectl-x", Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl x"}}
	root.PersistentFlags().String("namespace", "", "kubectl's own")
	sub := &cobra.Command{Use: "look NAME", Short: "Look | at it", Long: "Look at <it>.", Example: "  kubectl x look a", Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringP("output", "o", "json", "the form")
	root.AddCommand(sub)
	got := Commands(root)
	for _, want := range []string{
		`| [look](#look) | Look \| at it |`, "```\nkubectl x look NAME\n```", "Look at &lt;it>.", "```sh\nkubectl x look a\n```",
		"| `-o, --output` | `json` | the form |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "kubectl's own |") || strings.Contains(got, "--help") {
		t.Errorf("flags of all commands are listed:\n%s", got)
	}
}

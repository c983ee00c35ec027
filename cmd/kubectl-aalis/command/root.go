// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command builds the command tree of kubectl aalis: flags, completion and wiring. What the commands do
// stands in the packages beside it.
package command

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// New builds the root command. It reads the kubeconfig flags that kubectl itself has.
func New(streams genericiooptions.IOStreams, version string) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{
		Use:           "kubectl-aalis",
		Short:         "Work with bots that Aalis Operator runs",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		// kubectl shows this name in help texts and completions.
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl aalis"},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	flags.AddFlags(root.PersistentFlags())
	t := tools{flags: flags, streams: streams, version: version, now: time.Now}
	root.AddCommand(
		newChat(flags, streams), newStatus(t), newExplain(t), newReplicas(t), newUsage(t), newLogs(t), newReload(t),
		newDiff(t), newRender(t), newRollback(t), newImport(t), newAuthority(t),
	)
	return root
}

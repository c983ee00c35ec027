// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/bot"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/chat"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/forward"
)

type chatOptions struct {
	user, session string
	debug         bool
}

func newChat(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat NAME [TEXT...]",
		Short: "Talk to a bot",
		Long: `Talk to a bot through the API server's port-forward.

With TEXT it asks once, prints the answer as it is written and ends. Without, it reads one message a line until the
input ends.

The bot must have a plugin of module platform-openai. The token is read from the Secret that the plugin names, with
your own rights: who may not read that Secret cannot chat this way.`,
		Example: `  kubectl aalis chat hello
  kubectl aalis chat hello "what is on your mind?"
  kubectl aalis chat hello --person alice --session evening -n team-a`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeBots(cmd.Context(), flags, prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runChat(cmd.Context(), flags, streams, args[0], strings.Join(args[1:], " "), o)
		},
	}
	// --user is a kubeconfig flag already, so the person has a flag of another name.
	cmd.Flags().StringVar(&o.user, "person", "", "person to talk as, one of those in the token Secret (default: the first one)")
	cmd.Flags().StringVar(&o.session, "session", "kubectl", "session of that person; each has its own memory")
	cmd.Flags().BoolVar(&o.debug, "verbose", false, "say what is done")
	return cmd
}

func runChat(ctx context.Context, flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams, name, text string, o chatOptions) error {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	clients, err := bot.NewClients(config)
	if err != nil {
		return err
	}
	door, err := bot.FindDoor(ctx, clients, namespace, name, o.user)
	if err != nil {
		return err
	}
	if o.debug {
		fmt.Fprintf(streams.ErrOut, "talking to pod %s/%s, port %d, as %s\n", namespace, door.Pod, door.Port, door.Person)
	}
	tunnel, err := forward.Open(ctx, config, namespace, door.Pod, door.Port)
	if err != nil {
		return err
	}
	defer tunnel.Close()
	c := chat.Client{BaseURL: tunnel.URL(), Token: door.Token, Session: o.session, Model: name}
	if text != "" {
		return c.Ask(ctx, text, streams.Out)
	}
	return c.Converse(ctx, name, streams.In, streams.Out)
}

func completeBots(ctx context.Context, flags *genericclioptions.ConfigFlags, prefix string) []string {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil
	}
	clients, err := bot.NewClients(config)
	if err != nil {
		return nil
	}
	names, err := bot.Names(ctx, clients, namespace)
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			out = append(out, n)
		}
	}
	return out
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/explain"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/replicas"
)

func newExplain(t tools) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Say how a bot stands, why it is not Ready, and what to do next",
		Long: `Say in one screen how a bot stands: its conditions, the plugins that do not run and what each waits for, the change
that is not acknowledged yet, its pods with what their kernels report, the newest events, and the next step to take.

Needs get and list on agentinstances, agentreplicas, statefulsets, pods, events and leases: the role view has them.
What you may not read is left out, and said.`,
		Example: `  kubectl aalis explain hello
  kubectl aalis explain hello -n team-a -o yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.explain(cmd.Context(), args[0], format)
		},
	}
	outputFlag(cmd, &format)
	return cmd
}

func (t tools) explain(ctx context.Context, name, format string) error {
	f, err := output.Parse(format)
	if err != nil {
		return err
	}
	c, live, err := t.live(ctx, name)
	if err != nil {
		return err
	}
	events, note, err := cluster.Events(ctx, c, live)
	if err != nil {
		return err
	}
	if note != "" {
		live.Notes = append(live.Notes, note)
	}
	report := explain.Explain(live, events)
	if f != output.Text {
		return output.Encode(t.streams.Out, f, report)
	}
	return explain.Print(t.streams.Out, report, t.now())
}

func newReplicas(t tools) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "replicas NAME",
		Short: "List the pods of a bot and the revision that each really runs",
		Long: `List the pods of a bot with what their kernels report: role, revision, whether it is the wanted one, when it was
applied, and how the pod is.

Needs get and list on agentinstances, agentreplicas, statefulsets, pods and leases: the role view has them.`,
		Example: `  kubectl aalis replicas hello
  kubectl aalis replicas hello -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.replicas(cmd.Context(), args[0], format)
		},
	}
	outputFlag(cmd, &format)
	return cmd
}

func (t tools) replicas(ctx context.Context, name, format string) error {
	f, err := output.Parse(format)
	if err != nil {
		return err
	}
	_, live, err := t.live(ctx, name)
	if err != nil {
		return err
	}
	t.notes(live.Notes)
	list := replicas.Of(live)
	switch {
	case f != output.Text:
		return output.Encode(t.streams.Out, f, list)
	case len(list) == 0:
		fmt.Fprintf(t.streams.ErrOut, "bot %s has no pod; \"kubectl aalis explain %s\" says why\n", name, name)
		return nil
	}
	return output.Table(t.streams.Out, replicas.Header, replicas.Rows(list, t.now()))
}

// botStatus is one line of kubectl aalis status.
type botStatus struct {
	Namespace       string                  `json:"namespace"`
	Name            string                  `json:"name"`
	State           v1alpha1.State          `json:"state,omitempty"`
	Ready           string                  `json:"ready"`
	Reason          string                  `json:"reason,omitempty"`
	Message         string                  `json:"message,omitempty"`
	Persona         string                  `json:"persona,omitempty"`
	Model           string                  `json:"model,omitempty"`
	Revision        string                  `json:"revision,omitempty"`
	AppliedRevision string                  `json:"appliedRevision,omitempty"`
	PendingChange   *v1alpha1.PendingChange `json:"pendingChange,omitempty"`
	age             string
}

func newStatus(t tools) *cobra.Command {
	var (
		format string
		all    bool
	)
	cmd := &cobra.Command{
		Use:     "status [NAME...]",
		Aliases: []string{"list"},
		Short:   "List bots with their state and what is not acknowledged yet",
		Long: `List bots with their state, persona, model, the revision that runs and the change that is not acknowledged yet.

Needs list on agentinstances: the role view has it.`,
		Example: `  kubectl aalis status
  kubectl aalis status -A
  kubectl aalis status hello -o yaml`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeBots(cmd.Context(), t.flags, prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.status(cmd.Context(), args, format, all)
		},
	}
	outputFlag(cmd, &format)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the bots of all namespaces")
	return cmd
}

func (t tools) status(ctx context.Context, names []string, format string, all bool) error {
	f, err := output.Parse(format)
	if err != nil {
		return err
	}
	c, namespace, err := t.connect()
	if err != nil {
		return err
	}
	bots, err := readBots(ctx, c, namespace, names, all)
	if err != nil {
		return err
	}
	list := make([]botStatus, 0, len(bots))
	for i := range bots {
		s := statusOf(&bots[i])
		s.age = output.Age(t.now(), bots[i].CreationTimestamp.Time)
		list = append(list, s)
	}
	if f != output.Text {
		return output.Encode(t.streams.Out, f, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(t.streams.ErrOut, "no bots found")
		return nil
	}
	return output.Table(t.streams.Out, statusHeader, statusRows(list, all))
}

// readBots reads the named bots of a namespace, all of it, or all.
func readBots(ctx context.Context, c client.Client, namespace string, names []string, all bool) ([]v1alpha1.AgentInstance, error) {
	if len(names) == 0 {
		var list v1alpha1.AgentInstanceList
		var options []client.ListOption
		if !all {
			options = append(options, client.InNamespace(namespace))
		}
		if err := c.List(ctx, &list, options...); err != nil {
			return nil, fmt.Errorf("listing AgentInstances: %w", err)
		}
		return list.Items, nil
	}
	if all {
		return nil, fmt.Errorf("--all-namespaces takes no names, got %q", names)
	}
	var out []v1alpha1.AgentInstance
	for _, name := range names {
		bot, err := cluster.Bot(ctx, c, namespace, name)
		if err != nil {
			return nil, err
		}
		out = append(out, *bot)
	}
	return out, nil
}

func statusOf(in *v1alpha1.AgentInstance) botStatus {
	s := botStatus{
		Namespace: in.Namespace, Name: in.Name, State: in.Status.State, Ready: "Unknown", Model: in.Status.Model,
		Revision: in.Status.Revision, AppliedRevision: in.Status.AppliedRevision, PendingChange: in.Status.PendingChange,
	}
	if in.Spec.PersonaRef != nil {
		s.Persona = in.Spec.PersonaRef.Name
	}
	if c := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		s.Ready, s.Reason, s.Message = string(c.Status), c.Reason, c.Message
	}
	return s
}

var statusHeader = []string{"NAME", "STATE", "READY", "REASON", "PERSONA", "MODEL", "APPLIED", "PENDING", "AGE"}

func statusRows(list []botStatus, all bool) [][]string {
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		pending := ""
		if s.PendingChange != nil {
			pending = s.PendingChange.Effect
		}
		name := s.Name
		if all {
			name = s.Namespace + "/" + s.Name
		}
		rows = append(rows, []string{name, string(s.State), s.Ready, s.Reason, s.Persona, s.Model, s.AppliedRevision, pending, s.age})
	}
	return rows
}

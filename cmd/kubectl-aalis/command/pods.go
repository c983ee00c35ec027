// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/logs"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/reload"
)

const pollInterval = 500 * time.Millisecond

func newReload(t tools) *cobra.Command {
	var (
		wait    bool
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "reload NAME",
		Short: "Have a bot see new and changed Secrets at once",
		Long: `Have the kubelet look at once at the Secrets that a bot's pods mount, by touching an annotation of the pods. Without it a
new or changed Secret takes about a minute to be seen. Nothing is restarted but the plugins whose keys changed.

With --wait it ends when no plugin waits for a Secret key any more, and fails at the end of --timeout.

Needs get and list on agentinstances, agentreplicas, statefulsets, leases and pods, and patch on pods: the role edit has
them.`,
		Example: `  kubectl create secret generic llm --from-literal api-key=...
  kubectl aalis reload hello --wait`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout must be longer than 0, got %s", timeout)
			}
			return t.reload(cmd.Context(), args[0], wait, timeout)
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until no plugin waits for a Secret key")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "with --wait: how long")
	return cmd
}

func (t tools) reload(ctx context.Context, name string, wait bool, timeout time.Duration) error {
	c, live, err := t.live(ctx, name)
	if err != nil {
		return err
	}
	pods, err := reload.Touch(ctx, c, live, t.now())
	for _, pod := range pods {
		fmt.Fprintf(t.streams.Out, "pod/%s touched\n", pod)
	}
	if err != nil || !wait {
		return err
	}
	if err := reload.Wait(ctx, c, live.Instance.Namespace, name, timeout, pollInterval); err != nil {
		return err
	}
	fmt.Fprintln(t.streams.Out, "no plugin waits for a Secret key")
	return nil
}

// logFlags are the flags of kubectl aalis logs.
type logFlags struct {
	logs.Options
	since   time.Duration
	replica string
}

func newLogs(t tools) *cobra.Command {
	var o logFlags
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print the log of a bot's kernel",
		Long: `Print the log of a bot's kernel. With several pods each line begins with the pod's name; --replica chooses one.

Needs get and list on agentinstances, agentreplicas, statefulsets, leases and pods, and get on pods/log: the role view has
them.`,
		Example: `  kubectl aalis logs hello -f
  kubectl aalis logs hello --replica 1 --since 10m
  kubectl aalis logs hello --previous --tail 50`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.logs(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with what is written from now on")
	cmd.Flags().BoolVarP(&o.Previous, "previous", "p", false, "the log before the container was started anew")
	cmd.Flags().BoolVar(&o.Timestamps, "timestamps", false, "begin each line with its time")
	cmd.Flags().Int64Var(&o.Tail, "tail", -1, "how many last lines; -1 is all")
	cmd.Flags().DurationVar(&o.since, "since", 0, "only what is newer than this, as 10m")
	cmd.Flags().StringVar(&o.replica, "replica", "", "only this pod, by its name or number")
	return cmd
}

func (t tools) logs(ctx context.Context, name string, o logFlags) error {
	if o.since < 0 {
		return fmt.Errorf("--since may not be negative, got %s", o.since)
	}
	// A part of a second counts as a whole one: 0 would mean all.
	o.SinceSeconds = int64((o.since + time.Second - 1) / time.Second)
	_, live, err := t.live(ctx, name)
	if err != nil {
		return err
	}
	pods, err := choosePods(live, o.replica)
	if err != nil {
		return err
	}
	config, err := t.flags.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	open := func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return core.Pods(live.Instance.Namespace).GetLogs(pod, o).Stream(ctx)
	}
	return logs.Copy(ctx, open, pods, o.Options, t.streams.Out)
}

// choosePods gives the names of the pods whose logs are wanted.
func choosePods(live cluster.Live, replica string) ([]string, error) {
	bot := live.Instance.Name
	var names []string
	for _, pod := range live.Pods {
		names = append(names, pod.Name)
	}
	switch {
	case len(names) == 0 && len(live.Notes) > 0:
		return nil, fmt.Errorf("bot %s: %s", bot, strings.Join(live.Notes, "; "))
	case len(names) == 0:
		return nil, fmt.Errorf("bot %s has no pod; \"kubectl aalis explain %s\" says why", bot, bot)
	case replica == "":
		return names, nil
	}
	wanted := replica
	if _, err := strconv.ParseUint(replica, 10, 31); err == nil {
		wanted = "aalis-" + bot + "-" + replica
	}
	if !slices.Contains(names, wanted) {
		return nil, fmt.Errorf("--replica %s: bot %s has no such pod, only %s", replica, bot, strings.Join(names, ", "))
	}
	return []string{wanted}, nil
}

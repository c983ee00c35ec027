// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/usage"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

const (
	// booksAtATime is how many bots are asked at once, and bookTimeout how long one may take.
	booksAtATime = 8
	bookTimeout  = 15 * time.Second
)

// usageFlags are the flags of kubectl aalis usage.
type usageFlags struct {
	usage.Options
	everywhere bool
	over       string
	format     string
}

func newUsage(t tools) *cobra.Command {
	var o usageFlags
	cmd := &cobra.Command{
		Use:   "usage [NAME]",
		Short: "Show what bots used: tokens and cost, by namespace, bot, persona and model, now and over time",
		Long: `Show what a bot, or all bots of the namespace, used: calls of models, tokens and cost. It asks the bots themselves, which keep a
book in their memory backend: 48 hours by the hour, 400 days by the day, in UTC. A bot with storage Memory begins anew with each start.

--by says what to sum by, --over hour or day makes a line of each. COST needs prices in the Plugins; ESTIMATED are the tokens that
providers did not tell. A bot that cannot be asked is named, and the others are shown.

Needs get and list on agentinstances, and get on pods/proxy: the role edit has them.`,
		Example: `  kubectl aalis usage
  kubectl aalis usage hello --since 720h --by model --over day
  kubectl aalis usage -A --by namespace -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Over = usagebook.Span(o.over)
			if err := o.Check(); err != nil {
				return err
			}
			format, err := output.Parse(o.format)
			if err != nil {
				return err
			}
			return t.usage(cmd.Context(), args, o, format)
		},
	}
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "the bots of all namespaces")
	cmd.Flags().DurationVar(&o.Since, "since", 24*time.Hour, "how far back, as 24h; up to 48 hours counts full hours, more full days")
	cmd.Flags().StringSliceVar(&o.By, "by", []string{"namespace", "agent", "model"}, "what to sum by: namespace, agent, persona, provider, model")
	cmd.Flags().StringVar(&o.over, "over", "", "a line of each hour or day")
	outputFlag(cmd, &o.format)
	complete(cmd, "by", usage.Dimensions()...)
	complete(cmd, "over", string(usagebook.Hour), string(usagebook.Day))
	return cmd
}

func (t tools) usage(ctx context.Context, args []string, o usageFlags, format output.Format) error {
	c, namespace, err := t.connect()
	if err != nil {
		return err
	}
	bots, err := usersOf(ctx, c, namespace, args, o.everywhere)
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
	books, notes := readBooks(ctx, core, bots)
	t.notes(notes)
	if len(books) == 0 && len(notes) > 0 {
		return fmt.Errorf("none of %d bots could be asked", len(bots))
	}
	lines := usage.Sum(books, t.now(), o.Options)
	if format != output.Text {
		return output.Encode(t.streams.Out, format, lines)
	}
	header, rows := usage.Table(lines, o.Options)
	return output.Table(t.streams.Out, header, rows)
}

// usersOf finds the bots that are meant.
func usersOf(ctx context.Context, c client.Client, namespace string, args []string, everywhere bool) ([]v1alpha1.AgentInstance, error) {
	if len(args) == 1 {
		if everywhere {
			return nil, fmt.Errorf("a bot is of one namespace: give its name or --all-namespaces, not both")
		}
		var bot v1alpha1.AgentInstance
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: args[0]}, &bot); err != nil {
			if apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("there is no AgentInstance %q in namespace %s", args[0], namespace)
			}
			return nil, fmt.Errorf("reading AgentInstance %s: %w", args[0], err)
		}
		return []v1alpha1.AgentInstance{bot}, nil
	}
	var list v1alpha1.AgentInstanceList
	var opts []client.ListOption
	if !everywhere {
		opts = append(opts, client.InNamespace(namespace))
	}
	if err := c.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("listing AgentInstances: %w", err)
	}
	return list.Items, nil
}

// readBooks asks bots, some at a time, and says of which it got no answer.
func readBooks(ctx context.Context, core corev1client.PodsGetter, bots []v1alpha1.AgentInstance) (books []usagebook.Report, notes []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, booksAtATime)
	for i := range bots {
		bot := &bots[i]
		if bot.Spec.State == v1alpha1.DesiredStateSuspended {
			notes = append(notes, fmt.Sprintf("%s/%s is suspended and cannot be asked", bot.Namespace, bot.Name))
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			book, err := readBook(ctx, core, bot)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s/%s: %v", bot.Namespace, bot.Name, err))
				return
			}
			books = append(books, book)
		})
	}
	all.Wait()
	slices.Sort(notes)
	return books, notes
}

// readBook asks the pod of a bot through the API server. Who it is of is what we asked, whatever it says.
func readBook(ctx context.Context, core corev1client.PodsGetter, bot *v1alpha1.AgentInstance) (usagebook.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, bookTimeout)
	defer cancel()
	data, err := core.Pods(bot.Namespace).ProxyGet("http", render.PodName(bot.Name), strconv.Itoa(render.MetricsPort), "usage", nil).DoRaw(ctx)
	var book usagebook.Report
	if err == nil {
		err = json.Unmarshal(data, &book)
	}
	book.Agent, book.Namespace = bot.Name, bot.Namespace
	return book, err
}

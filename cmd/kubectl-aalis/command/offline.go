// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/diff"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/files"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/offline"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/rollback"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// fileOptions say which files to read.
type fileOptions struct {
	paths     []string
	recursive bool
	catalog   string
	format    string
}

func (o *fileOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&o.paths, "filename", "f", nil, "files or directories with the declared objects; - is the standard input")
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "go into directories below those of -f")
	catalogFlag(cmd, &o.catalog)
	outputFlag(cmd, &o.format)
}

func (t tools) load(paths []string, recursive bool, flag string) (files.Set, error) {
	if len(paths) == 0 {
		return files.Set{}, fmt.Errorf("%s must name the files that declare the bots", flag)
	}
	namespace, err := t.namespace()
	if err != nil {
		return files.Set{}, err
	}
	set, err := files.Load(files.Source{Paths: paths, Recursive: recursive, Namespace: namespace, In: t.streams.In})
	t.notes(set.Notes)
	return set, err
}

func newRender(t tools) *cobra.Command {
	var (
		o           fileOptions
		image, show string
	)
	cmd := &cobra.Command{
		Use:   "render -f FILE [NAME]",
		Short: "Show, with no cluster, what the operator would make of declared bots",
		Long: `Show all objects that the operator would make of the bots in files, and the kernel config that each bot would get. It
needs no cluster and no rights.

The exit status is 1 if a bot would be refused. What only a cluster knows is not there: UIDs, the addresses of the API
server, the values of Secrets.`,
		Example: `  kubectl aalis render -f bots/
  kubectl aalis render -f bots/ hello --show config -o json
  kustomize build . | kubectl aalis render -f -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return t.render(o, name, image, show)
		},
	}
	o.add(cmd)
	cmd.Flags().StringVar(&image, "runtime-image", "aalis:"+t.version, "runtime image of bots that name none")
	cmd.Flags().StringVar(&show, "show", "all", "all, objects or config")
	complete(cmd, "show", "all", "objects", "config")
	return cmd
}

// renderedBot is one bot of kubectl aalis render -o json.
type renderedBot struct {
	Namespace string               `json:"namespace"`
	Name      string               `json:"name"`
	Revision  string               `json:"revision"`
	Config    *kernelconfig.Config `json:"config,omitempty"`
	Objects   []any                `json:"objects,omitempty"`
}

func (t tools) render(o fileOptions, name, image, show string) error {
	f, err := output.Parse(o.format)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"all", "objects", "config"}, show) {
		return fmt.Errorf("--show must be all, objects or config, got %q", show)
	}
	set, err := t.load(o.paths, o.recursive, "-f")
	if err != nil {
		return err
	}
	cat, err := readCatalog(o.catalog)
	if err != nil {
		return err
	}
	bots, err := offline.Render(set.Objects, name, offline.Options{Catalog: cat, Image: image})
	if err != nil {
		return err
	}
	rendered, refused := t.rendered(bots, set, show)
	if err := printRendered(t, f, rendered, show); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d bots would be refused", refused, len(bots))
	}
	return nil
}

func (t tools) rendered(bots []offline.Bot, set files.Set, show string) (out []renderedBot, refused int) {
	for _, bot := range bots {
		for _, p := range bot.Composed.Problems {
			text := p.String()
			if place := set.Place(p.Object, p.Path); place != "" {
				text = place + ": " + text
			}
			fmt.Fprintf(t.streams.ErrOut, "%s: %s\n", p.Severity, output.Clean(text))
		}
		if !bot.Composed.Deployable() {
			refused++
			continue
		}
		r := renderedBot{Namespace: bot.Instance.Namespace, Name: bot.Instance.Name, Revision: bot.Composed.Delivery.Revision}
		if show != "objects" {
			r.Config = &bot.Composed.Config
		}
		if show != "config" {
			for _, object := range bot.Objects {
				r.Objects = append(r.Objects, object)
			}
		}
		out = append(out, r)
	}
	return out, refused
}

func printRendered(t tools, f output.Format, bots []renderedBot, show string) error {
	if f == output.JSON && show != "objects" {
		return output.Encode(t.streams.Out, f, bots)
	}
	var documents []any
	for _, bot := range bots {
		documents = append(documents, bot.Objects...)
		if bot.Config != nil {
			documents = append(documents, bot.Config)
		}
	}
	return output.Documents(t.streams.Out, f, documents)
}

// diffFailed is the exit status for errors, as that of kubectl diff: 1 means that there are differences.
const diffFailed = 2

func newDiff(t tools) *cobra.Command {
	var (
		o       fileOptions
		from    []string
		offline bool
	)
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Say what applying files would do: which bots reload or restart, and how their texts change",
		Long: `Say what applying files would do to the bots of the cluster: for each bot that changes, whether its kernel takes the
change over while it runs (Reload) or its pod is replaced (Restart), which plugins are touched, and a diff of the texts
of its personas and of its config. Nothing is written, and no Secret is read.

With --offline the files of -f are compared with those of --from instead, with no cluster; bots that are only in one of
the sets are created or deleted.

The exit status is 0 without a difference, 1 with one, 2 for an error or if a bot would be refused.

Needs list on agentinstances, plugins, personas, servicepreferences and authoritypolicies of the namespaces that the
files name, and get on configmaps where what is declared now is refused: the role view has them.`,
		Example: `  kubectl aalis diff -f bots/ -R
  kustomize build . | kubectl aalis diff -f -
  kubectl aalis diff --offline --from main/bots -f branch/bots -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := t.diff(cmd.Context(), o, from, offline)
			var exit *ExitError
			if err == nil || errors.As(err, &exit) {
				return err
			}
			return &ExitError{Code: diffFailed, Err: err}
		},
	}
	o.add(cmd)
	cmd.Flags().StringSliceVar(&from, "from", nil, "with --offline: files or directories of what is there now")
	cmd.Flags().BoolVar(&offline, "offline", false, "compare with the files of --from and not with a cluster")
	return cmd
}

func (t tools) diff(ctx context.Context, o fileOptions, from []string, offline bool) error {
	f, err := output.Parse(o.format)
	if err != nil {
		return err
	}
	if offline != (len(from) > 0) {
		return errors.New("--offline and --from belong together")
	}
	set, err := t.load(o.paths, o.recursive, "-f")
	if err != nil {
		return err
	}
	cat, err := readCatalog(o.catalog)
	if err != nil {
		return err
	}
	in := diff.Input{After: set.Objects, Catalog: cat}
	if offline {
		before, err := t.load(from, o.recursive, "--from")
		if err != nil {
			return err
		}
		in.Before = before.Objects
	} else if err := t.diffBase(ctx, &in, set); err != nil {
		return err
	}
	return t.printDiff(f, diff.Bots(in), set)
}

// diffBase reads the cluster, and lays the files over what is there.
func (t tools) diffBase(ctx context.Context, in *diff.Input, set files.Set) error {
	c, _, err := t.connect()
	if err != nil {
		return err
	}
	for _, namespace := range set.Namespaces() {
		live, err := cluster.Gather(ctx, c, namespace)
		if err != nil {
			return err
		}
		in.Before.Add(live)
	}
	if in.After, err = diff.Overlay(in.Before, set.Objects, rollback.FieldManager); err != nil {
		return err
	}
	in.Running, err = running(ctx, c, *in)
	return err
}

// running reads what those bots run whose declared objects make no config.
func running(ctx context.Context, c client.Client, in diff.Input) (map[types.NamespacedName]kernelconfig.Config, error) {
	out := map[types.NamespacedName]kernelconfig.Config{}
	for i := range in.Before.Instances {
		bot := &in.Before.Instances[i]
		input := in.Before.Input(bot)
		input.Catalog = in.Catalog
		if compose.Compose(input).Deployable() {
			continue
		}
		config, err := cluster.Delivered(ctx, c, bot)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		case err != nil:
			return nil, err
		case config != nil:
			out[client.ObjectKeyFromObject(bot)] = *config
		}
	}
	return out, nil
}

func (t tools) printDiff(f output.Format, bots []diff.Bot, set files.Set) error {
	var err error
	switch {
	case f != output.Text:
		if bots == nil {
			bots = []diff.Bot{}
		}
		err = output.Encode(t.streams.Out, f, bots)
	default:
		err = diff.Print(t.streams.Out, bots, set.Place)
	}
	if err != nil {
		return err
	}
	refused := 0
	for _, bot := range bots {
		if bot.Effect == diff.Refused {
			refused++
		}
	}
	switch {
	case refused > 0:
		return &ExitError{Code: diffFailed, Err: fmt.Errorf("%d of %d bots would be refused", refused, len(bots))}
	case len(bots) > 0:
		return &ExitError{Code: 1}
	}
	return nil
}

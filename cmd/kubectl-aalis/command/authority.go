// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/authority"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/files"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// authorityOptions say whose policies are asked.
type authorityOptions struct {
	paths     []string
	recursive bool
	bot       string
	catalog   string
}

func (o *authorityOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&o.paths, "filename", "f", nil, "files with AuthorityPolicies, instead of those of the cluster; - is the standard input")
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "go into directories below those of -f")
	cmd.Flags().StringVar(&o.bot, "bot", "", "the bot whose policies hold (default: the only one; in files with no bot all policies hold)")
	catalogFlag(cmd, &o.catalog)
}

func newAuthority(t tools) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "authority",
		Short: "Show who may do what with a bot",
		Long: `Show who may do what with a bot, as its AuthorityPolicies declare it. Levels that owners have given in chat are known to
the bot alone: they lie over what is declared, unless a policy locks levels.

With -f it needs no cluster. Without, it needs the right to list the declared objects of the namespace, as the role view has it.`,
		Example: "  kubectl aalis authority show hello\n  kubectl aalis authority can-i --user onebot:10001 command:clear.all",
	}
	cmd.AddCommand(newCanI(t), newAuthorityShow(t))
	return cmd
}

func newCanI(t tools) *cobra.Command {
	var (
		o          authorityOptions
		user       string
		declared   authority.Flags
		unattended bool
	)
	cmd := &cobra.Command{
		Use:   "can-i OPERATION --user PLATFORM:USERID",
		Short: "Tell whether somebody may run a tool or a command, and which rule decides",
		Long: `Tell whether somebody may run a tool or a command, and which rule decides. It asks the rules that the bot itself asks.

The exit status is 0 for yes, also if a person must confirm first, and 1 for no, as that of "kubectl auth can-i" is.`,
		Example: `  kubectl aalis authority can-i --user onebot:10001 command:clear.all
  kubectl aalis authority can-i --user onebot:10001 tool:exec --risk dangerous -f policy.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.canI(cmd.Context(), o, user, args[0], declared, unattended)
		},
	}
	o.add(cmd)
	// --user is a kubeconfig flag as well; here it is the person in the chat.
	cmd.Flags().StringVar(&user, "user", "", "the person, as PLATFORM:USERID")
	cmd.Flags().StringVar(&declared.Risk, "risk", "", "what the operation declares, if no shipped module offers it: safe, sensitive or dangerous")
	cmd.Flags().StringVar(&declared.Visibility, "visibility", "", "the same: public or restricted")
	cmd.Flags().StringVar(&declared.Confirm, "confirm", "", "the same: session or always")
	cmd.Flags().BoolVar(&unattended, "unattended", false, "ask for a message of a scheduler, which has nobody to confirm")
	complete(cmd, "risk", "safe", "sensitive", "dangerous")
	complete(cmd, "visibility", "public", "restricted")
	complete(cmd, "confirm", "session", "always")
	return cmd
}

func (t tools) canI(ctx context.Context, o authorityOptions, user, capability string, flags authority.Flags, unattended bool) error {
	who, err := authority.ParseUser(user)
	if err != nil {
		return err
	}
	declared, known, err := authority.Declared(capability, flags)
	if err != nil {
		return err
	}
	if !known {
		t.notes([]string{"no shipped module offers " + capability + ": it is taken to be public; say what it declares with --risk, --visibility or --confirm"})
	}
	merged, err := t.merged(ctx, o)
	if err != nil {
		return err
	}
	answer := authority.Ask(merged, authority.Question{Who: who, Capability: capability, Declared: declared, Unattended: unattended}, t.now())
	fmt.Fprintln(t.streams.Out, output.Clean(answer.Text()))
	if !answer.Allowed() {
		return &ExitError{Code: 1}
	}
	return nil
}

func newAuthorityShow(t tools) *cobra.Command {
	var (
		o      authorityOptions
		format string
	)
	cmd := &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Show the merged policy of a bot",
		Example:           "  kubectl aalis authority show hello\n  kubectl aalis authority show -f policy.yaml -o yaml",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.bot = args[0]
			}
			return t.showAuthority(cmd.Context(), o, format)
		},
	}
	o.add(cmd)
	outputFlag(cmd, &format)
	return cmd
}

func (t tools) showAuthority(ctx context.Context, o authorityOptions, format string) error {
	f, err := output.Parse(format)
	if err != nil {
		return err
	}
	merged, err := t.merged(ctx, o)
	if err != nil {
		return err
	}
	if merged == nil {
		merged = &kernelconfig.Authority{}
	}
	if !slices.Contains(merged.Lock, kernelconfig.LockLevels) {
		t.notes([]string{"levels that owners have given in chat are not known here; they lie over these, except over a ban (lock: [Levels] keeps them out)"})
	}
	if format != "" {
		return output.Encode(t.streams.Out, f, merged)
	}
	return output.Table(t.streams.Out, []string{"WHAT", "VALUE", "OF"}, authority.Rows(merged))
}

// merged is the policy that the operator would give a bot.
func (t tools) merged(ctx context.Context, o authorityOptions) (*kernelconfig.Authority, error) {
	objects, err := t.policies(ctx, o)
	if err != nil {
		return nil, err
	}
	instance, err := theBot(objects, o)
	if err != nil {
		return nil, err
	}
	if instance == nil {
		instance = &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Name: "bot"}}
		for i := range objects.AuthorityPolicies {
			p := &objects.AuthorityPolicies[i]
			p.Spec.Selector, p.Namespace = &metav1.LabelSelector{}, ""
		}
	}
	in := objects.Input(instance)
	if in.Catalog, err = readCatalog(o.catalog); err != nil {
		return nil, err
	}
	r := compose.Compose(in)
	var wrong []error
	for _, p := range r.Problems {
		if p.Severity == compose.SeverityError && strings.HasPrefix(p.Object, v1alpha1.KindAuthorityPolicy+" ") {
			wrong = append(wrong, p)
		}
	}
	return r.Config.Authority, errors.Join(wrong...)
}

func (t tools) policies(ctx context.Context, o authorityOptions) (cluster.Objects, error) {
	if len(o.paths) > 0 {
		namespace, err := t.namespace()
		if err != nil {
			return cluster.Objects{}, err
		}
		set, err := files.Load(files.Source{Paths: o.paths, Recursive: o.recursive, Namespace: namespace, In: t.streams.In})
		t.notes(set.Notes)
		return set.Objects, err
	}
	c, namespace, err := t.connect()
	if err != nil {
		return cluster.Objects{}, err
	}
	return cluster.Gather(ctx, c, namespace)
}

// theBot finds the bot that is meant. In files with no bot there is none, and all policies hold.
func theBot(objects cluster.Objects, o authorityOptions) (*v1alpha1.AgentInstance, error) {
	var names []string
	for i := range objects.Instances {
		if o.bot == objects.Instances[i].Name {
			return &objects.Instances[i], nil
		}
		names = append(names, objects.Instances[i].Name)
	}
	slices.Sort(names)
	switch {
	case o.bot != "":
		return nil, fmt.Errorf("there is no bot %q, there are: %s", o.bot, strings.Join(names, ", "))
	case len(names) == 1:
		return &objects.Instances[0], nil
	case len(names) == 0 && len(o.paths) > 0:
		return nil, nil
	case len(names) == 0:
		return nil, errors.New("there is no bot in this namespace; name another with -n, or files with -f")
	}
	return nil, fmt.Errorf("say which bot with --bot, there are: %s", strings.Join(names, ", "))
}

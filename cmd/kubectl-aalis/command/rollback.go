// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/rollback"
)

// rollbackFlags are the flags of kubectl aalis rollback.
type rollbackFlags struct {
	of           string
	toRevision   int64
	undo, list   bool
	dryRun       bool
	format       string
	sourceWanted *rollback.Source
}

func newRollback(t tools) *cobra.Command {
	var o rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Pin a bot to an earlier revision of a persona or plugin, or take the pin away",
		Long: `Pin a bot to an earlier revision of a Persona or Plugin that it uses. The bot takes it over as it takes any change; the
Persona or Plugin itself, and so what is in Git, stays as it is. The pin lapses when the object is changed, and goes with
--undo.

Without flags it takes back the latest change of all that the bot uses. --of chooses the Persona or Plugin, --to-revision
one of the revisions that --list shows.

Needs get and list on agentinstances, list on controllerrevisions, and patch on agentinstances: the role edit has them.
--list needs no patch.`,
		Example: `  kubectl aalis rollback hello --list
  kubectl aalis rollback hello
  kubectl aalis rollback hello --of persona/night-owl --to-revision 3
  kubectl aalis rollback hello --undo`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags().Changed("to-revision")); err != nil {
				return err
			}
			return t.rollback(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.of, "of", "", "the object, as persona/NAME or plugin/NAME (default: the one that changed last)")
	cmd.Flags().Int64Var(&o.toRevision, "to-revision", 0, "the revision (default: the one before that in effect)")
	cmd.Flags().BoolVar(&o.undo, "undo", false, "take away the pins that this command has set, or that of --of")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the revisions and change nothing")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "have the server check it and change nothing")
	outputFlag(cmd, &o.format)
	return cmd
}

func (o *rollbackFlags) check(revisionGiven bool) error {
	switch {
	case revisionGiven && o.toRevision < 1:
		return fmt.Errorf("--to-revision must be at least 1, got %d", o.toRevision)
	case o.undo && (revisionGiven || o.list):
		return errors.New("--undo goes with neither --to-revision nor --list")
	case o.list && (revisionGiven || o.dryRun):
		return errors.New("--list goes with neither --to-revision nor --dry-run")
	case o.format != "" && !o.list:
		return errors.New("--output goes with --list")
	case o.of == "":
		return nil
	}
	source, err := rollback.ParseSource(o.of)
	if err != nil {
		return fmt.Errorf("--of %w", err)
	}
	o.sourceWanted = &source
	return nil
}

func (t tools) rollback(ctx context.Context, name string, o rollbackFlags) error {
	format, err := output.Parse(o.format)
	if err != nil {
		return err
	}
	c, namespace, err := t.connect()
	if err != nil {
		return err
	}
	bot, err := cluster.Bot(ctx, c, namespace, name)
	if err != nil {
		return err
	}
	pins, err := rollback.Pins(ctx, c, namespace, name)
	if err != nil {
		return err
	}
	if o.undo {
		left := rollback.Without(pins, o.sourceWanted)
		if len(left) == len(pins) {
			return fmt.Errorf("bot %s has no pin to take away", name)
		}
		if err := rollback.Apply(ctx, c, bot, left, o.dryRun); err != nil {
			return err
		}
		t.said(o.dryRun, "agentinstance/%s unpinned", name)
		return nil
	}
	revisions, err := rollback.List(ctx, c, namespace, rollback.Sources(bot), pins)
	if err != nil {
		return err
	}
	if o.list {
		return t.listRevisions(format, ofSource(revisions, o.sourceWanted))
	}
	pin, err := rollback.Choose(revisions, o.sourceWanted, o.toRevision)
	if err != nil {
		return fmt.Errorf("bot %s: %w", name, err)
	}
	if err := rollback.Apply(ctx, c, bot, rollback.With(pins, pin), o.dryRun); err != nil {
		return err
	}
	t.said(o.dryRun, "agentinstance/%s pinned to revision %d of %s, instead of %d", name, pin.Revision, pin.Source, pin.OverRevision)
	return nil
}

func (t tools) said(dryRun bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if dryRun {
		text += " (dry run)"
	}
	fmt.Fprintln(t.streams.Out, text)
}

func ofSource(revisions []rollback.Revision, source *rollback.Source) []rollback.Revision {
	out := []rollback.Revision{}
	for _, r := range revisions {
		if source == nil || r.Source == *source {
			out = append(out, r)
		}
	}
	return out
}

func (t tools) listRevisions(format output.Format, revisions []rollback.Revision) error {
	if format != output.Text {
		return output.Encode(t.streams.Out, format, revisions)
	}
	if len(revisions) == 0 {
		fmt.Fprintln(t.streams.ErrOut, "no revision is kept of what this bot uses")
		return nil
	}
	return output.Table(t.streams.Out, []string{"OBJECT", "REVISION", "IN EFFECT", "AGE", "CHANGE"}, revisionRows(revisions, t.now()))
}

func revisionRows(revisions []rollback.Revision, now time.Time) [][]string {
	rows := make([][]string, 0, len(revisions))
	for _, r := range revisions {
		effect := ""
		switch {
		case r.Pinned:
			effect = "pinned"
		case r.Effective:
			effect = "yes"
		}
		rows = append(rows, []string{r.String(), fmt.Sprint(r.Revision), effect, output.Age(now, r.Time), r.Summary})
	}
	return rows
}

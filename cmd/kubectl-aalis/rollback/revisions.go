// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// The label that each kept revision has. The name is taken from the owner reference: a label may be too short for it.
const labelKind = "aalis.dev/revision-of-kind"

// Source is an object of which revisions are kept.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// String is the source as people write it: persona/night-owl.
func (s Source) String() string { return strings.ToLower(s.Kind) + "/" + s.Name }

// kinds of which revisions are kept.
var kinds = []string{v1alpha1.KindPersona, v1alpha1.KindPlugin}

// ParseSource reads persona/NAME or plugin/NAME.
func ParseSource(text string) (Source, error) {
	kind, name, ok := strings.Cut(text, "/")
	for _, k := range kinds {
		if ok && name != "" && strings.EqualFold(kind, k) {
			return Source{Kind: k, Name: name}, nil
		}
	}
	return Source{}, fmt.Errorf("must be persona/NAME or plugin/NAME, got %q", text)
}

// Sources lists the Personas and Plugins that a bot uses, sorted: those that it refers to, and those that went into what it
// runs.
func Sources(in *v1alpha1.AgentInstance) []Source {
	var out []Source
	if in.Spec.PersonaRef != nil {
		out = append(out, Source{v1alpha1.KindPersona, in.Spec.PersonaRef.Name})
	}
	for _, p := range in.Spec.Personas {
		out = append(out, Source{v1alpha1.KindPersona, p.Name})
	}
	for _, p := range in.Spec.Plugins {
		if p.Module == "" {
			out = append(out, Source{v1alpha1.KindPlugin, p.Name})
		}
	}
	for _, i := range in.Status.Inputs {
		if slices.Contains(kinds, i.Kind) {
			out = append(out, Source{i.Kind, i.Name})
		}
	}
	slices.SortFunc(out, compareSources)
	return slices.Compact(out)
}

func compareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Revision is one kept revision of a source.
type Revision struct {
	Source   `json:",inline"`
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Newest is what the object declares now; Effective is what the bot uses, by its pin or because it has none.
	Newest    bool `json:"newest,omitempty"`
	Effective bool `json:"effective,omitempty"`
	Pinned    bool `json:"pinned,omitempty"`
	// Summary is how it differs from the revision before.
	Summary string `json:"summary,omitempty"`
}

// List lists the kept revisions of sources, by source, the newest first.
func List(ctx context.Context, c client.Client, namespace string, sources []Source, pins []Pin) ([]Revision, error) {
	var list appsv1.ControllerRevisionList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{labelKind}); err != nil {
		return nil, fmt.Errorf("listing ControllerRevisions in namespace %s: %w", namespace, err)
	}
	bySource := map[Source][]appsv1.ControllerRevision{}
	for _, r := range list.Items {
		for _, owner := range r.OwnerReferences {
			source := Source{owner.Kind, owner.Name}
			if slices.Contains(sources, source) {
				bySource[source] = append(bySource[source], r)
			}
		}
	}
	var out []Revision
	for _, source := range sources {
		out = append(out, describe(source, bySource[source], pins)...)
	}
	return out, nil
}

func describe(source Source, kept []appsv1.ControllerRevision, pins []Pin) []Revision {
	slices.SortFunc(kept, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
	pinned := int64(0)
	for _, p := range pins {
		if p.Source == source && len(kept) > 0 && p.holds(kept[0].Revision) {
			pinned = p.Revision
		}
	}
	out := make([]Revision, 0, len(kept))
	for i, r := range kept {
		rev := Revision{
			Source: source, Revision: r.Revision, Time: r.CreationTimestamp.Time, Newest: i == 0,
			Pinned: r.Revision == pinned, Effective: r.Revision == pinned || pinned == 0 && i == 0,
		}
		if i+1 < len(kept) {
			rev.Summary = Summary(kept[i+1].Data.Raw, r.Data.Raw)
		} else {
			rev.Summary = "the oldest that is kept"
		}
		out = append(out, rev)
	}
	return out
}

// Choose picks what to pin. With no source it takes the one whose revision in effect is the latest of those that have an
// earlier one; with revision 0 the one before that in effect.
func Choose(revisions []Revision, source *Source, revision int64) (Pin, error) {
	of, err := chooseSource(revisions, source)
	if err != nil {
		return Pin{}, err
	}
	var numbers []string
	pin := Pin{Source: of}
	for _, r := range revisions {
		if r.Source != of {
			continue
		}
		numbers = append(numbers, fmt.Sprint(r.Revision))
		if r.Newest {
			pin.OverRevision = r.Revision
		}
		switch {
		case revision == r.Revision:
			pin.Revision = r.Revision
		case revision == 0 && pin.Revision == 0 && r.Revision < effective(revisions, of):
			pin.Revision = r.Revision
		}
	}
	switch {
	case pin.Revision != 0:
		return pin, nil
	case revision != 0:
		return Pin{}, fmt.Errorf("%s has no revision %d; there is %s", of, revision, strings.Join(numbers, ", "))
	}
	return Pin{}, fmt.Errorf("%s has no revision before that in effect; there is %s", of, strings.Join(numbers, ", "))
}

func chooseSource(revisions []Revision, source *Source) (Source, error) {
	var best *Revision
	for i, r := range revisions {
		switch {
		case source != nil && r.Source == *source:
			return *source, nil
		case source == nil && r.Effective && earlier(revisions, r) && (best == nil || r.Time.After(best.Time)):
			best = &revisions[i]
		}
	}
	switch {
	case source != nil:
		return Source{}, fmt.Errorf("no revision of %s is kept, or this bot does not use it", source)
	case best == nil:
		return Source{}, errors.New("nothing that this bot uses has an earlier revision")
	}
	return best.Source, nil
}

func earlier(revisions []Revision, than Revision) bool {
	return slices.ContainsFunc(revisions, func(r Revision) bool { return r.Source == than.Source && r.Revision < than.Revision })
}

func effective(revisions []Revision, of Source) int64 {
	for _, r := range revisions {
		if r.Source == of && r.Effective {
			return r.Revision
		}
	}
	return 0
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/revisions"
	"github.com/aalis-dev/aalis-operator/controllers/rollout"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// source is a Persona or Plugin that the bot uses, with what its roll-out needs.
type source struct {
	object  client.Object
	kind    string
	rollout *v1alpha1.RolloutSpec
	status  *v1alpha1.RolloutStatus
	current *int64
}

func personaSource(p *v1alpha1.Persona) source {
	return source{p, v1alpha1.KindPersona, p.Spec.Rollout, p.Status.Rollout, p.Status.CurrentRevision}
}

func pluginSource(p *v1alpha1.Plugin) source {
	return source{p, v1alpha1.KindPlugin, p.Spec.Rollout, p.Status.Rollout, p.Status.CurrentRevision}
}

// gatherRevisions adds the revisions of what the bot uses, and which of them roll-outs hold it at. What a revision
// contains is read only where a pin or a roll-out asks for it.
func (r *Reconciler) gatherRevisions(ctx context.Context, in *compose.Input, now inEffect) error {
	names := shared.PersonaNames(in.Instance)
	for i := range in.Personas {
		for _, name := range names { // in.Personas holds all of the namespace if one is missing
			if in.Personas[i].Name == name {
				if err := r.gatherRevisionsOf(ctx, in, now, personaSource(&in.Personas[i])); err != nil {
					return err
				}
			}
		}
	}
	for i := range in.Plugins {
		if err := r.gatherRevisionsOf(ctx, in, now, pluginSource(&in.Plugins[i])); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) gatherRevisionsOf(ctx context.Context, in *compose.Input, now inEffect, s source) error {
	instance, name := in.Instance, s.object.GetName()
	list, err := revisions.List(ctx, r.Cache, instance.Namespace, s.kind, name, s.object.GetUID())
	if err != nil {
		return err
	}
	hash, err := r.revisions.Hash(s.object)
	if err != nil {
		return err
	}
	live := revisions.Live(list, hash)
	wanted := int64(0)
	if pin := rollout.Pin(instance, s.kind, name); pin != nil {
		wanted = pin.Revision
	}
	held := rollout.Choose(rollout.Object{
		Spec: s.rollout, Status: s.status, Generation: s.object.GetGeneration(), Live: live, Current: number(s.current),
	}, rollout.Key(s.rollout, instance.Name, instance.Labels), now.revision(instance, s.kind, name))
	if held != 0 {
		in.Held = append(in.Held, compose.Held{Kind: s.kind, Name: name, Revision: held})
	}
	for _, known := range list {
		if !known.Own {
			continue
		}
		out := compose.Revision{Kind: s.kind, Name: name, Number: known.Number, Live: known.Number == live}
		if known.Number == wanted || known.Number == held {
			found, there, err := r.revisions.Load(ctx, instance.Namespace, s.kind, known)
			if err != nil {
				return err
			}
			if !there {
				continue
			}
			out.Persona, out.Plugin = found.Persona, found.Plugin
		}
		in.Revisions = append(in.Revisions, out)
	}
	return nil
}

func number(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// usersOfRevision maps a revision to the bots that use the object it is of.
func (r *Reconciler) usersOfRevision(ctx context.Context, obj client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(obj)
	if owner == nil {
		return nil
	}
	switch owner.Kind {
	case v1alpha1.KindPersona:
		users, err := shared.InstancesByIndex(ctx, r.Cache, obj.GetNamespace(), shared.IndexPersona, owner.Name)
		return requests(ctx, users, err)
	case v1alpha1.KindPlugin:
		p := &v1alpha1.Plugin{}
		if err := r.Cache.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: owner.Name}, p); err != nil {
			return nil // it is gone, or comes and brings its users
		}
		return r.usersOfPlugin(ctx, p)
	}
	return nil
}

// recordedLater lets through what happens to revisions while the operator runs; at its start every bot is looked at anyway.
func recordedLater() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// rolloutMoved lets through what changes which bots get a revision. Counts and messages do not.
func rolloutMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := rolloutOf(e.ObjectOld), rolloutOf(e.ObjectNew)
		return after.rollout != nil && (number(before.current) != number(after.current) ||
			!equality.Semantic.DeepEqual(shared.Decisive(before.status), shared.Decisive(after.status)))
	}}
}

func rolloutOf(obj client.Object) source {
	switch o := obj.(type) {
	case *v1alpha1.Persona:
		return personaSource(o)
	case *v1alpha1.Plugin:
		return pluginSource(o)
	}
	return source{}
}

// fillPins says which pins are in effect and which are not. While the bot cannot be composed the conditions stay.
func (p *pass) fillPins(status *v1alpha1.AgentInstanceStatus) {
	if !p.composed.Deployable() && len(p.instance.Spec.Pin) > 0 {
		return
	}
	var held, lapsed []string
	reason := ""
	for _, pin := range p.composed.Pins {
		switch pin.Lapsed {
		case "":
			held = append(held, pin.String())
			continue
		case v1alpha1.ReasonSourceChanged:
			lapsed = append(lapsed, fmt.Sprintf("%s: it has changed since and is at revision %d", pin, pin.Newest))
		default:
			lapsed = append(lapsed, fmt.Sprintf("%s: the bot does not use it", pin))
		}
		if reason == "" {
			reason = pin.Lapsed
		}
	}
	p.fillWhile(status, v1alpha1.ConditionPinned, v1alpha1.ReasonPinned, held)
	p.fillWhile(status, v1alpha1.ConditionPinLapsed, reason, lapsed)
}

// fillPolicyConflict says where policies of the bot differ, and which of them holds.
func (p *pass) fillPolicyConflict(status *v1alpha1.AgentInstanceStatus) {
	var differ []string
	for _, problem := range p.composed.Problems {
		if problem.Reason == v1alpha1.ReasonStricterHolds {
			differ = append(differ, problem.String())
		}
	}
	p.fillWhile(status, v1alpha1.ConditionPolicyConflict, v1alpha1.ReasonStricterHolds, differ)
}

// fillWhile sets a condition while there is something to say, and removes it otherwise.
func (p *pass) fillWhile(status *v1alpha1.AgentInstanceStatus, kind, reason string, what []string) {
	if len(what) == 0 {
		shared.RemoveCondition(&status.Conditions, kind)
		return
	}
	shared.SetCondition(&status.Conditions, p.instance.Generation, metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: strings.Join(what, "; "),
	})
}

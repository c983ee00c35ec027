// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// apply renders the children and applies those that differ. It goes on after an error, so that one foreign object does
// not keep the others from being repaired, but never makes a pod without everything else. What will not pass by itself
// is kept in the pass, to be reported; the error it returns may.
func (r *Reconciler) apply(ctx context.Context, p *pass) error {
	if p.running == nil {
		return nil
	}
	objects, ok := p.render()
	if !ok {
		return nil
	}
	var stuck, passing []error
	for _, obj := range objects.List() {
		if _, policy := obj.(*networkingv1.NetworkPolicy); policy && len(p.options.APIServers) == 0 {
			// A policy without the API server would cut off every bot; its EndpointSlice brings us back.
			log.FromContext(ctx).Info("Skipped the NetworkPolicy, the API server's addresses are not known")
			continue
		}
		if _, last := obj.(*appsv1.StatefulSet); last && len(stuck)+len(passing) > 0 {
			break
		}
		_, locked := obj.(*corev1.ConfigMap)
		outcome, err := r.applier.Apply(ctx, obj, shared.Options{Locked: locked})
		switch {
		case err == nil:
			if obj == render.Object(objects.StatefulSet) && outcome != shared.Unchanged {
				p.world.rolling = true // what was seen of the pod is out of date
			}
		case lasting(err):
			stuck = append(stuck, err)
		default:
			passing = append(passing, err)
		}
	}
	p.stuck = errors.Join(stuck...)
	return errors.Join(passing...)
}

// render makes the children; if it cannot, the pass says why.
func (p *pass) render() (render.Objects, bool) {
	if err := p.composed.Refused(); err != nil {
		p.stuck = err
		return render.Objects{}, false
	}
	instance := p.instance
	if p.composed.Instance != nil {
		instance = p.composed.Instance
	}
	objects, err := render.Render(render.Input{
		Instance: instance, Config: *p.running, Slots: p.wanted, Inputs: p.inputs, Catalog: p.input.Catalog, Options: p.options,
	})
	p.stuck = err
	return objects, err == nil
}

// lasting tells whether an error of apply stays until somebody changes something.
func lasting(err error) bool {
	var foreign *shared.NotOwnedError
	return errors.As(err, &foreign) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) && !namespaceTerminating(err)
}

func namespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

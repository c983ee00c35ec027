// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"bytes"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// resultDelivered is the value of the metric for a config that was delivered.
const resultDelivered = "Delivered"

// compose makes the kernel config.
func (p *pass) compose() { p.composed = compose.Compose(p.input) }

// deliver decides what the ConfigMap shall hold. A composed config becomes current, with the next sequence if its
// revision is new. One that could not be composed changes nothing: what was delivered before stays, and the children
// go on following that.
func (p *pass) deliver(ctx context.Context) {
	if !p.composed.Deployable() {
		p.onDelivery(p.composed.Problems[0].Reason)
		p.wanted = p.delivered
		if p.delivered.Current != nil {
			config, err := p.delivered.Current.Unpack()
			if err != nil {
				log.FromContext(ctx).Error(err, "Read a delivered config that is damaged, and have no other")
				return
			}
			p.running = &config
		}
		return
	}
	next, changed := nextSlots(p.delivered, p.composed.Delivery, p.acknowledged(), p.lowestSequence())
	if changed {
		p.inputs = inEffectOf(p.composed.References).annotation()
		p.onDelivery(resultDelivered)
		log.FromContext(ctx).Info("Delivering revision", "revision", next.Current.Revision, "sequence", next.Current.Sequence)
	}
	p.wanted, p.running = next, &p.composed.Config
}

// acknowledged is the revision that a kernel last said it runs.
func (p *pass) acknowledged() string {
	if r := p.world.replica; r != nil && r.Status.AppliedRevision != "" {
		return r.Status.AppliedRevision
	}
	return p.instance.Status.AppliedRevision
}

// maxLead is how far ahead of what the operator remembers a kernel's sequence is believed to be. An etcd that was restored
// from a backup puts it a few ahead; a kernel that lies would leave no number for the next config.
const maxLead = 1_000_000

// lowestSequence is the highest sequence that is known to have been used, whatever became of the ConfigMap since.
func (p *pass) lowestSequence() int64 {
	known := int64(0)
	if n := p.instance.Status.Sequence; n != nil {
		known = *n
	}
	if c := p.delivered.Current; c != nil {
		known = max(known, c.Sequence)
	}
	lowest := known
	raise := func(n *int64) {
		if n != nil && *n-known <= maxLead {
			lowest = max(lowest, *n)
		}
	}
	if r := p.world.replica; r != nil {
		raise(r.Status.AppliedSequence)
		if r.Status.Rejected != nil {
			raise(r.Status.Rejected.Sequence)
		}
	}
	return lowest
}

// nextSlots puts a composed config into the slots. The same revision keeps its place, its sequence and, where they are
// sound, its very bytes: another version of the operator may compress differently. A new one takes the next sequence,
// and the one it replaces becomes the last good one if a kernel acknowledged it.
func nextSlots(have kernelconfig.Slots, composed kernelconfig.Delivery, acknowledged string, lowest int64) (next kernelconfig.Slots, changed bool) {
	next = have
	if next.LastGood != nil && !sound(*next.LastGood) {
		next.LastGood = nil
	}
	if c := have.Current; c != nil && c.Revision == composed.Revision && c.Sequence >= lowest {
		kept := *c
		if !bytes.Equal(kept.Data, composed.Data) && !sound(kept) {
			kept.Data = composed.Data
		}
		next.Current = &kept
		return next, false
	}
	if c := have.Current; c != nil {
		lowest = max(lowest, c.Sequence)
		if c.Revision == acknowledged && c.Revision != composed.Revision && sound(*c) {
			next.LastGood = c
		}
	}
	composed.Sequence = lowest + 1
	next.Current = &composed
	return next, true
}

func sound(d kernelconfig.Delivery) bool {
	_, err := d.Unpack()
	return err == nil
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/test/harness"
)

// fleet is many bots of one namespace that share a Persona and a model server.
type fleet struct {
	ns      string
	bots    []botParts
	persona botParts
}

func newFleet(ctx context.Context, t *testing.T, ns string, bots int) fleet {
	t.Helper()
	f := fleet{ns: ns, persona: newBot(ns, "first")}
	manifests := []string{f.persona.personaYAML(), f.persona.pluginsYAML()}
	for i := range bots {
		f.bots = append(f.bots, newBot(ns, fmt.Sprintf("bot-%d", i)))
		manifests = append(manifests, f.bots[i].instanceYAML())
	}
	must(t, cluster.Apply(ctx, ns, strings.Join(manifests, "---\n")))
	for _, b := range f.bots {
		_, err := cluster.Until(ctx, ns, b.name, harness.IsReady)
		must(t, err)
	}
	return f
}

// edit changes the Persona that all share, and what else of it is asked for.
func (f fleet) edit(ctx context.Context, t *testing.T, change func(*v1alpha1.PersonaSpec)) time.Time {
	t.Helper()
	p := &v1alpha1.Persona{}
	must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: f.persona.persona}, p))
	patch := client.MergeFrom(p.DeepCopy())
	change(&p.Spec)
	sent := time.Now()
	must(t, cluster.Client.Patch(ctx, p, patch))
	return sent
}

// reports are those of the kernels, by the name of the bot.
func (f fleet) reports(ctx context.Context) (map[string]v1alpha1.AgentReplicaStatus, error) {
	var list v1alpha1.AgentReplicaList
	if err := cluster.Client.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
		return nil, err
	}
	out := map[string]v1alpha1.AgentReplicaStatus{}
	for i := range list.Items {
		out[list.Items[i].Labels[v1alpha1.LabelInstance]] = list.Items[i].Status
	}
	return out, nil
}

// everyone waits until all bots run another revision than before, and gives the reports.
func (f fleet) everyone(ctx context.Context, t *testing.T, before map[string]v1alpha1.AgentReplicaStatus) map[string]v1alpha1.AgentReplicaStatus {
	t.Helper()
	var now map[string]v1alpha1.AgentReplicaStatus
	eventually(ctx, t, "every bot runs the edit", time.Minute, func(ctx context.Context) (bool, string) {
		var err error
		if now, err = f.reports(ctx); err != nil {
			return false, err.Error()
		}
		left := 0
		for _, b := range f.bots {
			if now[b.name].AppliedRevision == before[b.name].AppliedRevision {
				left++
			}
		}
		return left == 0, fmt.Sprintf("%d of %d bots do not", left, len(f.bots))
	})
	return now
}

// TestFleet: an edit of a Persona that many bots share is live in all of them; an operator that is killed again and again
// during roll-outs finishes them, and no bot notices; and a namespace that is deleted while its bots talk is gone soon.
func TestFleet(t *testing.T) {
	ctx, ns := newNamespace(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(size(6, 20))*time.Minute)
	defer cancel()
	withModel(ctx, t, ns)
	f := newFleet(ctx, t, ns, size(5, 50))
	t.Run("edit to live", func(t *testing.T) { f.editToLive(ctx, t, size(5, 20)) })
	if !t.Failed() && bare {
		t.Run("operator killed", func(t *testing.T) { f.operatorKilled(ctx, t, size(3, 20)) })
	}
	if full {
		// Kubernetes ends the pods of a namespace first, and looks again whether they have only after half of their grace
		// period. With so many pods on one small node a second look would take the time, which is not what is tested.
		_, ns := newNamespace(t)
		withModel(ctx, t, ns)
		f = newFleet(ctx, t, ns, 5)
	}
	if !t.Failed() {
		t.Run("namespace deleted", func(t *testing.T) { f.namespaceDeleted(ctx, t) })
	}
}

func (f fleet) editToLive(ctx context.Context, t *testing.T, edits int) {
	t.Helper()
	before, err := f.reports(ctx)
	must(t, err)
	var took []time.Duration
	for i := range edits {
		sent := f.edit(ctx, t, func(p *v1alpha1.PersonaSpec) { p.Prompt = strings.Repeat("You are calm. ", i+2) })
		after := f.everyone(ctx, t, before)
		for _, b := range f.bots {
			took = append(took, after[b.name].AppliedTime.Sub(sent))
		}
		before = after
	}
	slices.Sort(took)
	median, p95 := took[len(took)/2], took[len(took)*95/100]
	t.Logf("edit to live, %d edits of a Persona that %d bots share: median %s, p95 %s, longest %s", edits, len(f.bots), median, p95, took[len(took)-1])
	if median > time.Second {
		t.Errorf("edit to live: median %s; it must be live in about a second", median)
	}
}

func (f fleet) operatorKilled(ctx context.Context, t *testing.T, kills int) {
	t.Helper()
	began, err := f.reports(ctx)
	must(t, err)
	pauseSeconds, third, half := int32(1), int32(34), int32(67)
	last := ""
	for i := range kills {
		last = fmt.Sprintf("You are calm, and killed %d times.", i)
		f.edit(ctx, t, func(p *v1alpha1.PersonaSpec) {
			p.Prompt = last
			p.Rollout = &v1alpha1.RolloutSpec{
				PauseSeconds: &pauseSeconds,
				Steps:        []v1alpha1.RolloutStep{{Percent: &third}, {Percent: &half}},
			}
		})
		// Each kill comes at another moment of the roll-out.
		moment := time.NewTimer(time.Duration(i*137%1500) * time.Millisecond)
		<-moment.C
		killed := operatorPod(ctx, t)
		_, err := cluster.Run(ctx, "", "delete", "pod", "-n", operatorNamespace, killed.Name, "--grace-period=0", "--force")
		must(t, err)
		// The Deployment's status may still be that of the killed pod, so the pods themselves are looked at.
		eventually(ctx, t, "another operator is ready", time.Minute, func(ctx context.Context) (bool, string) {
			var pods corev1.PodList
			err := cluster.Client.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": "aalis-operator"})
			for i := range pods.Items {
				p := &pods.Items[i]
				ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
				if p.UID != killed.UID && p.DeletionTimestamp.IsZero() && p.Status.Phase == corev1.PodRunning && ready {
					return true, ""
				}
			}
			return false, fmt.Sprintf("%d pods, %v", len(pods.Items), err)
		})
	}
	eventually(ctx, t, "the last roll-out is complete", 3*time.Minute, func(ctx context.Context) (bool, string) {
		p := &v1alpha1.Persona{}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: f.persona.persona}, p); err != nil {
			return false, err.Error()
		}
		r := p.Status.Rollout
		done := p.Status.ObservedGeneration != nil && *p.Status.ObservedGeneration == p.Generation && r != nil &&
			r.Phase == v1alpha1.RolloutCompleted && p.Status.Usage != nil && p.Status.Usage.Applied != nil && int(*p.Status.Usage.Applied) == len(f.bots)
		return done, fmt.Sprintf("%+v", p.Status)
	})
	after, err := f.reports(ctx)
	must(t, err)
	for _, b := range f.bots {
		inst, err := cluster.Until(ctx, f.ns, b.name, harness.IsReady)
		must(t, err)
		if got := after[b.name]; got.AppliedRevision != inst.Status.Revision || got.PodUID != began[b.name].PodUID || restarts(ctx, t, b) != 0 {
			t.Errorf("%s runs %s in pod %s with %d restarts, want %s in %s with none", b.name, got.AppliedRevision, got.PodUID,
				restarts(ctx, t, b), inst.Status.Revision, began[b.name].PodUID)
		}
		if grown, most := *after[b.name].AppliedSequence-*began[b.name].AppliedSequence, int64(kills); grown > most {
			t.Errorf("%s was given %d revisions, want at most %d", b.name, grown, most)
		}
	}
	out, err := cluster.Run(ctx, "", "get", "statefulsets,agentreplicas", "-n", f.ns, "-o", "name")
	must(t, err)
	if n := len(strings.Fields(out)); n != 2*len(f.bots) {
		t.Errorf("%d StatefulSets and AgentReplicas for %d bots:\n%s", n, len(f.bots), out)
	}
	t.Logf("%d bots run the last of %d roll-outs; the operator was killed in each", len(f.bots), kills)
}

func (f fleet) namespaceDeleted(ctx context.Context, t *testing.T) {
	t.Helper()
	talking, stop := context.WithCancel(ctx)
	var people sync.WaitGroup
	defer people.Wait()
	defer stop()
	for _, b := range f.bots {
		people.Go(func() {
			for talking.Err() == nil {
				if _, err := cluster.Ask(talking, f.ns, b.name, "e2e-"+harness.ShortID(), strings.Repeat("word ", 40), io.Discard); err != nil {
					return
				}
			}
		})
	}
	began := time.Now()
	_, err := cluster.Run(ctx, "", "delete", "namespace", f.ns, "--timeout=60s")
	if err != nil {
		out, _ := cluster.Run(ctx, "", "get", "namespace", f.ns, "-o", "jsonpath={.status}")
		t.Fatalf("the namespace is not gone after 60 s: %v: %s", err, out)
	}
	t.Logf("a namespace with %d bots was gone %s after its deletion began", len(f.bots), time.Since(began).Round(100*time.Millisecond))
}

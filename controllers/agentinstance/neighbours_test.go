// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestKernelMayTouchOnlyItsOwn: who has taken over a pod can read the config of its bot and report for it, and nothing else.
func TestKernelMayTouchOnlyItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	other := newScene(t, 1)
	env.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "of-others"}})
	kernel := env.Kernel(t, s.ns, s.bots[0].Name)
	get := func(namespace, name string, obj client.Object) func() error {
		return func() error { return kernel.Get(t.Context(), testenv.Key(namespace, name), obj) }
	}
	report := func(namespace, bot string) func() error {
		return func() error {
			replica := &v1alpha1.AgentReplica{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: render.PodName(bot)}}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"version":"forged"}}`))
			return kernel.Status().Patch(t.Context(), replica, patch)
		}
	}
	for name, do := range map[string]func() error{
		"its config": get(s.ns, render.ChildName("bot-0"), &corev1.ConfigMap{}),
		"its report": report(s.ns, "bot-0"),
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	remove := func(obj client.Object, name string) func() error {
		return func() error {
			obj.SetNamespace(s.ns)
			obj.SetName(name)
			return kernel.Delete(t.Context(), obj)
		}
	}
	list := func(list client.ObjectList, opts ...client.ListOption) func() error {
		return func() error { return kernel.List(t.Context(), list, opts...) }
	}
	here := client.InNamespace(s.ns)
	for name, do := range map[string]func() error{
		"another's config":          get(s.ns, render.ChildName("bot-1"), &corev1.ConfigMap{}),
		"another's report":          report(s.ns, "bot-1"),
		"a report elsewhere":        report(other.ns, "bot-0"),
		"a Secret":                  get(s.ns, "of-others", &corev1.Secret{}),
		"Secrets":                   list(&corev1.SecretList{}, here),
		"pods":                      list(&corev1.PodList{}, here),
		"its own declaration":       get(s.ns, "bot-0", &v1alpha1.AgentInstance{}),
		"a Persona":                 get(s.ns, "owl", &v1alpha1.Persona{}),
		"an end of its config":      remove(&corev1.ConfigMap{}, render.ChildName("bot-0")),
		"an end of its report":      remove(&v1alpha1.AgentReplica{}, render.PodName("bot-0")),
		"an end of its own pod":     remove(&corev1.Pod{}, render.PodName("bot-0")),
		"configs of the namespace":  list(&corev1.ConfigMapList{}, here),
		"reports of the whole land": list(&v1alpha1.AgentReplicaList{}),
	} {
		if err := do(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want that it is forbidden", name, err)
		}
	}
}

// TestKernelThatLiesAndFloods, of design section 7: a bot whose pod was taken over reports as fast as it can, and nothing of
// it is true. Another tenant's bot of the same operator gets its change; what the operator writes for the flood is bounded,
// however fast it comes; and when it is over, the bot is well again.
func TestKernelThatLiesAndFloods(t *testing.T) {
	t.Parallel()
	bad, good := env.Namespace(t), env.Namespace(t)
	nodes := map[string]*testenv.Node{bad: env.StartNode(t, bad), good: env.StartNode(t, good)}
	var bots []*v1alpha1.AgentInstance
	owl := testenv.Persona(good, "owl", "You are an owl.")
	env.Create(t, owl, testenv.Persona(bad, "owl", "You are an owl."))
	for _, ns := range []string{bad, good} {
		bot := testenv.Instance(ns, "bot")
		env.Create(t, testenv.Plugin(ns, "main"), bot)
		bots = append(bots, bot)
	}
	operator := env.StartOperator(t, []string{bad, good}, nil)
	for _, bot := range bots {
		active(t, bot)
	}
	operator.Quiet(t)
	operator.Writes.Reset()

	revision := delivered(t, bots[0]).Current.Revision
	ctx, stop := context.WithCancel(t.Context())
	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- flood(ctx, env.Kernel(t, bad, "bot"), bad, revision) }()
	for i := range 6 {
		prompt := fmt.Sprintf("You are owl %d.", i)
		testenv.Edit(t, &env, owl, func(p *v1alpha1.Persona) { p.Spec.Prompt = prompt })
		testenv.WaitFor(t, &env, owl, func(p *v1alpha1.Persona) error {
			if *p.Status.Usage.Applied != 1 || *p.Status.ObservedGeneration != p.Generation {
				return fmt.Errorf("status %+v", p.Status)
			}
			return nil
		})
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	// Each object has 30 passes at once and 2 a second, and a pass writes a status once. Three objects look at the flood.
	most := 3*(30+2*int(time.Since(began)/time.Second+1)) + 6*4
	if n := operator.Writes.Total(); n > most {
		t.Errorf("wrote %d times, want at most %d: %s", n, most, operator.Writes)
	}
	nodes[bad].Restart(t, "bot")
	active(t, bots[0])
	active(t, bots[1])
	if f := operator.Writes.Forbidden(); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
}

// flood reports lies for a bot until the context ends. Every other report could be true, so that the operator takes it up,
// and every tenth claims that the last of all sequences has been used.
func flood(ctx context.Context, kernel client.Client, namespace, revision string) error {
	var replica v1alpha1.AgentReplica
	replica.Namespace, replica.Name = namespace, render.PodName("bot")
	long := strings.Repeat("x", 253)
	for i := 0; ctx.Err() == nil; i++ {
		lie := fmt.Sprintf(`{"status":{"appliedRevision":%q,"model":"m%d","rejected":null}}`, revision, i)
		if i%2 == 1 {
			plugins := make([]string, 0, 128)
			for n := range 128 * (i / 50 % 2) { // now and then as large as it may be
				plugins = append(plugins, fmt.Sprintf(`{"id":"%s","state":"Error"}`, fmt.Sprint(n, "-", i, long)[:253]))
			}
			sequence := int64(i)
			if i%10 == 1 {
				sequence = math.MaxInt64
			}
			lie = fmt.Sprintf(`{"status":{"appliedRevision":"forged-%d","appliedSequence":%d,"rejected":{"revision":"r%d","message":"%s"},`+
				`"lastRecompute":{"reason":"service-up","service":"%s","rounds":%d},"plugins":[%s]}}`,
				i, sequence, i, long, long, i%20+1, strings.Join(plugins, ","))
		}
		err := kernel.Status().Patch(ctx, replica.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(lie)))
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("lie %d: %w", i, err)
		}
	}
	return nil
}

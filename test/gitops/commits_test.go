// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// commits is how many commits the gate applies, and how many the whole test.
func commits() int {
	if os.Getenv("AALIS_FULL") == "1" {
		return 100
	}
	return 10
}

// files are the repository at a commit: the persona changes with each, now and then also the model server, the owner and
// the log level, and a third bot comes and goes.
func files(commit int) map[string]string {
	out := map[string]string{
		"persona.yaml": fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: owl}
spec: {prompt: "You are the owl of %s."}
`, mark(commit)),
		"plugin.yaml": fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: {baseUrl: "http://models-%d.svc"}
  secrets: [{path: apiKey, secretKeyRef: {name: llm, key: api-key}}]
`, commit/3),
		"rules.yaml": fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: AuthorityPolicy
metadata: {name: rules}
spec: {selector: {}, owners: [{platform: onebot, userId: "%d"}]}
`, commit/4),
		"bots.yaml": bot("one", commit) + "---\n" + bot("two", commit),
	}
	if commit%4 == 3 {
		out["guest.yaml"] = bot(guest(commit), commit)
	}
	return out
}

// guest has another name each time: nothing here collects the children of a bot that has gone.
func guest(commit int) string { return fmt.Sprintf("guest-%d", commit) }

func mark(commit int) string { return fmt.Sprintf("commit-%d", commit) }

func bot(name string, commit int) string {
	return fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: %s}
spec:
  model: {plugin: main, id: small}
  personaRef: {name: owl}
  plugins: [{name: main}]
  logLevel: %s
`, name, []string{"info", "debug"}[commit/5%2])
}

// TestFlux: through many commits, Flux reports success only when every bot runs what the commit says; and nobody writes
// anything when Flux applies the same commit again.
func TestFlux(t *testing.T) {
	ns := env.Namespace(t)
	node := env.StartNode(t, ns)
	operator := env.StartOperator(t, []string{ns}, nil)
	startFlux(t)
	repo := newRepository(t)
	source, kustomization := declared(t, ns)
	begin := time.Now()
	for commit := range commits() {
		// Nothing acknowledges until Flux has applied the commit and waits. The first commit has nobody to silence.
		node.Behave(t, testenv.Behaviour{Silent: true})
		revision := repo.commit(t, source, files(commit))
		checking(t, kustomization, revision)
		delivered(t, ns, commit)
		operator.Quiet(t)
		if err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(kustomization), kustomization); err != nil {
			t.Fatal(err)
		}
		if ready := fluxCondition(kustomization, "Ready"); ready["status"] == "True" {
			t.Fatalf("commit %d: Flux reports success before any bot runs it: %v", commit, ready)
		}
		node.Behave(t, testenv.Behaviour{})
		applied(t, kustomization, revision)
		runs(t, ns, commit)

		operator.Quiet(t)
		operator.Writes.Reset()
		before := versions(t, ns)
		again(t, kustomization, revision)
		if diff := cmp.Diff(before, versions(t, ns)); diff != "" {
			t.Errorf("commit %d, applied again, changed something (-before +after):\n%s", commit, diff)
		}
		if n := operator.Writes.Total(); n != 0 {
			t.Errorf("commit %d, applied again, made the operator write: %s", commit, operator.Writes)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d commits in %s", commits(), time.Since(begin).Round(time.Second))
	begin = time.Now()
	gone(t, kustomization)
	t.Logf("all of it removed in %s", time.Since(begin).Round(100*time.Millisecond))
	var left v1alpha1.AgentInstanceList
	testenv.Eventually(t, func() error {
		if err := env.Client().List(t.Context(), &left, client.InNamespace(ns)); err != nil {
			return err
		}
		if len(left.Items) > 0 {
			return fmt.Errorf("%d bots are left", len(left.Items))
		}
		return nil
	})
	if denied := operator.Writes.Forbidden(); len(denied) > 0 {
		t.Errorf("the role forbids %v", denied)
	}
}

func names(commit int) []string {
	out := []string{"one", "two"}
	if commit%4 == 3 {
		out = append(out, guest(commit))
	}
	return out
}

// delivered waits until the operator has delivered a commit's persona to every bot.
func delivered(t *testing.T, ns string, commit int) {
	t.Helper()
	for _, name := range names(commit) {
		testenv.Eventually(t, func() error {
			slots, err := slotsOf(t, ns, name)
			if err != nil {
				return err
			}
			return mentions(slots.Current, commit)
		})
	}
}

// runs checks at once that every kernel runs a commit's persona.
func runs(t *testing.T, ns string, commit int) {
	t.Helper()
	for _, name := range names(commit) {
		slots, err := slotsOf(t, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := mentions(slots.Current, commit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		replica := &v1alpha1.AgentReplica{}
		if err := env.Client().Get(t.Context(), testenv.Key(ns, render.PodName(name)), replica); err != nil {
			t.Fatal(err)
		}
		if replica.Status.AppliedRevision != slots.Current.Revision {
			t.Errorf("commit %d: %s runs %s, Flux says that it runs %s", commit, name, replica.Status.AppliedRevision, slots.Current.Revision)
		}
	}
	var list v1alpha1.AgentInstanceList
	if err := env.Client().List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(names(commit)) {
		t.Errorf("commit %d: %d bots, want %v", commit, len(list.Items), names(commit))
	}
}

func slotsOf(t *testing.T, ns, name string) (kernelconfig.Slots, error) {
	t.Helper()
	var cm corev1.ConfigMap
	if err := env.Client().Get(t.Context(), testenv.Key(ns, render.ChildName(name)), &cm); err != nil {
		return kernelconfig.Slots{}, err
	}
	return kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
}

func mentions(d *kernelconfig.Delivery, commit int) error {
	if d == nil {
		return fmt.Errorf("nothing is delivered")
	}
	config, err := d.Unpack()
	if err != nil {
		return err
	}
	if config.Persona == nil || !strings.Contains(fmt.Sprint(*config.Persona), mark(commit)+".") {
		return fmt.Errorf("the delivered persona is not that of commit %d", commit)
	}
	return nil
}

// versions gives the resource version of every object that Flux or the operator keeps in a namespace: it changes with every
// write, also one of managed fields alone.
func versions(t *testing.T, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, gvk := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("AgentInstance"), v1alpha1.GroupVersion.WithKind("Plugin"), v1alpha1.GroupVersion.WithKind("Persona"),
		v1alpha1.GroupVersion.WithKind("AuthorityPolicy"), v1alpha1.GroupVersion.WithKind("AgentReplica"),
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := env.Client().List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for _, u := range list.Items {
			out[gvk.Kind+" "+u.GetName()] = u.GetResourceVersion()
		}
	}
	return out
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/files"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/offline"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func samples(t *testing.T) (cluster.Objects, offline.Options) {
	t.Helper()
	set, err := files.Load(files.Source{Paths: []string{"../../../config/samples"}, Namespace: "team-a"})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return set.Objects, offline.Options{Catalog: cat, Image: "registry.example/aalis:1"}
}

// TestRenderSamples: what is rendered is whole, and the ConfigMap holds the very config.
func TestRenderSamples(t *testing.T) {
	objects, options := samples(t)
	bots, err := offline.Render(objects, "", options)
	if err != nil || len(bots) != 1 || len(bots[0].Objects) < 8 {
		t.Fatalf("got %d bots, %v", len(bots), err)
	}
	for _, o := range bots[0].Objects {
		if o.GetNamespace() != "team-a" || o.GetObjectKind().GroupVersionKind().Kind == "" {
			t.Errorf("%T %s/%s has no kind or another namespace", o, o.GetNamespace(), o.GetName())
		}
		cm, ok := o.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
		if err != nil || slots.Current == nil || slots.Current.Revision != bots[0].Composed.Delivery.Revision {
			t.Errorf("the ConfigMap delivers %+v, %v", slots.Current, err)
		}
	}
}

func TestRenderMistakes(t *testing.T) {
	objects, options := samples(t)
	if _, err := offline.Render(objects, "nobody", options); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("got %v", err)
	}
	if _, err := offline.Render(cluster.Objects{}, "", options); err == nil {
		t.Error("no bots, and no error")
	}
	objects.Personas = nil
	bots, err := offline.Render(objects, "hello", options)
	if err != nil || len(bots) != 1 || bots[0].Composed.Deployable() || bots[0].Objects != nil {
		t.Errorf("a bot with no persona: got %+v, %v", bots, err)
	}
}

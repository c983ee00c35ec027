// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// anyInput draws an instance and a config as compose may make them.
func anyInput(t *rapid.T, base Input) Input {
	label := rapid.StringMatching(`[a-z]([-a-z0-9]{0,38}[a-z0-9])?`)
	in := base
	instance := *base.Instance
	in.Instance = &instance
	instance.Name = label.Draw(t, "name")
	if rapid.Bool().Draw(t, "suspended") {
		instance.Spec.State = v1alpha1.DesiredStateSuspended
	}
	if drain := rapid.Int32Range(-1, 600).Draw(t, "drain"); drain >= 0 {
		instance.Spec.DrainTimeoutSeconds = &drain
	}
	in.Config.Plugins = nil
	for i := range rapid.IntRange(0, 6).Draw(t, "plugins") {
		module := rapid.SampledFrom([]string{"@aalis/plugin-agent", "@aalis/plugin-llm-openai", "@aalis/plugin-platform-openai", "@x/unknown"}).Draw(t, "module")
		p := kernelconfig.Plugin{
			ID: fmt.Sprintf("%s:%d", module, i), Module: module, Disabled: rapid.Bool().Draw(t, "disabled"),
			Config: map[string]any{
				"port":    rapid.SampledFrom([]any{float64(8080), float64(0), float64(70000), 1.5, "80", nil, 443}).Draw(t, "port"),
				"baseUrl": rapid.OneOf(rapid.String(), rapid.StringMatching(`https?://[-a-z0-9.:]{1,60}(/.*)?`)).Draw(t, "url"),
			},
		}
		for range rapid.IntRange(0, 3).Draw(t, "secrets") {
			p.Secrets = append(p.Secrets, kernelconfig.Secret{
				Path: "p", Name: label.Draw(t, "secret"), Key: rapid.StringMatching(`[-._a-zA-Z0-9]{1,20}`).Draw(t, "key"),
			})
		}
		in.Config.Plugins = append(in.Config.Plugins, p)
	}
	for range rapid.IntRange(0, 3).Draw(t, "servers") {
		addr := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		in.Options.APIServers = append(in.Options.APIServers[:len(in.Options.APIServers):len(in.Options.APIServers)], netip.AddrPortFrom(addr, 6443))
	}
	return in
}

// TestProperties: the same input gives the same objects, and none of them reaches into the host or gives a pod more than
// the level restricted allows.
func TestProperties(t *testing.T) {
	base := minimal(t)
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t, base)
		first, err := Render(in)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Render(in)
		if err != nil {
			t.Fatal(err)
		}
		a, err := json.Marshal(first.List())
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(second.List())
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Fatal("two renderings of one input differ")
		}
		for _, field := range []string{"hostNetwork", "hostPID", "hostIPC", "hostPath", "hostPort", "privileged", "hostUsers", "stringData", "\"nodeName\""} {
			if strings.Contains(string(a), field) {
				t.Fatalf("a rendered object has %s", field)
			}
		}
		checkObjects(t, in, first)
	})
}

func checkObjects(t *rapid.T, in Input, objects Objects) {
	for _, obj := range objects.List() {
		owners := obj.GetOwnerReferences()
		if len(obj.GetName()) > 63 || obj.GetNamespace() != in.Instance.Namespace || len(owners) != 1 || owners[0].UID != in.Instance.UID {
			t.Fatalf("%T has the metadata %s/%s %+v", obj, obj.GetNamespace(), obj.GetName(), owners)
		}
		if obj.GetLabels()[LabelManagedBy] != ManagedBy || obj.GetLabels()[v1alpha1.LabelInstance] != in.Instance.Name {
			t.Fatalf("%T has the labels %v", obj, obj.GetLabels())
		}
	}
	pod := objects.StatefulSet.Spec.Template.Spec
	c := pod.Containers[0]
	names, numbers := map[string]bool{}, map[int32]bool{}
	for _, p := range c.Ports {
		if names[p.Name] || numbers[p.ContainerPort] || len(p.Name) > 15 || p.ContainerPort < 1 || p.ContainerPort > 65535 {
			t.Fatalf("ports %+v", c.Ports)
		}
		names[p.Name], numbers[p.ContainerPort] = true, true
	}
	if *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot || *c.SecurityContext.AllowPrivilegeEscalation || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Fatal("the pod may more than it should")
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && v.EmptyDir == nil && v.Projected == nil {
			t.Fatalf("volume %+v is of an unexpected kind", v)
		}
	}
	seen := map[string]bool{}
	for _, source := range projected(pod.Volumes, "secrets") {
		if seen[source.Secret.Name] || !*source.Secret.Optional || len(source.Secret.Items) == 0 {
			t.Fatalf("secret projection %+v", source.Secret)
		}
		seen[source.Secret.Name] = true
	}
	if len(objects.Service.Spec.Ports) != len(c.Ports) || len(objects.NetworkPolicy.Spec.Ingress[0].Ports) != len(c.Ports) {
		t.Fatal("Service, NetworkPolicy and container do not agree on the ports")
	}
}

func projected(volumes []corev1.Volume, name string) []corev1.VolumeProjection {
	for _, v := range volumes {
		if v.Name == name {
			return v.Projected.Sources
		}
	}
	return nil
}

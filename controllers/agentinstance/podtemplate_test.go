// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestPodTemplate: what a bot says of its pod reaches the StatefulSet, what the server adds to it is no drift, and keys of the
// operator are refused at admission.
func TestPodTemplate(t *testing.T) {
	s := newScene(t, 1, patient)
	bot := s.bots[0]
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) {
		in.Spec.PodTemplate = &v1alpha1.PodSettings{
			Labels: map[string]string{"team": "a"}, NodeSelector: map[string]string{"disk": "ssd"},
			Tolerations: []corev1.Toleration{{Key: "bots", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}},
			}}}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway}},
			ImagePullSecrets:          []v1alpha1.LocalReference{{Name: "pull"}},
		}
	})
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: render.ChildName(bot.Name)}}
	testenv.WaitFor(t, &env, set, func(set *appsv1.StatefulSet) error {
		spec := set.Spec.Template.Spec
		if set.Spec.Template.Labels["team"] != "a" || set.Spec.Template.Labels[v1alpha1.LabelInstance] != bot.Name || spec.NodeSelector["disk"] != "ssd" ||
			len(spec.Tolerations) != 1 || spec.Affinity == nil || len(spec.ImagePullSecrets) != 1 || spec.TopologySpreadConstraints[0].LabelSelector == nil {
			return fmt.Errorf("template %+v", set.Spec.Template)
		}
		return nil
	})
	s.settle(t)
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Labels["color"] = "blue" })
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("a pass with nothing to do wrote %d times: %s", n, s.operator.Writes)
	}
	for _, key := range []string{"aalis.dev/instance", "x.aalis.dev/y", "app.kubernetes.io/name"} {
		bad := bot.DeepCopy()
		bad.Spec.PodTemplate.Labels = map[string]string{key: "x"}
		if err := env.Client().Update(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "which are the operator's own") {
			t.Errorf("%s: %v", key, err)
		}
	}
	s.forbidden(t)
}

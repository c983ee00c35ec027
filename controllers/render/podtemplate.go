// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// mergePodSettings adds what a bot says of where and how its pod runs. What the operator itself sets stays as it is.
func mergePodSettings(template *corev1.PodTemplateSpec, s *v1alpha1.PodSettings) {
	if s == nil {
		return
	}
	template.Labels = under(template.Labels, s.Labels)
	template.Annotations = under(template.Annotations, s.Annotations)
	spec, from := &template.Spec, s.DeepCopy()
	spec.NodeSelector, spec.Tolerations, spec.Affinity = from.NodeSelector, from.Tolerations, from.Affinity
	spec.PriorityClassName = from.PriorityClassName
	spec.TopologySpreadConstraints = from.TopologySpreadConstraints
	for i := range spec.TopologySpreadConstraints {
		if c := &spec.TopologySpreadConstraints[i]; c.LabelSelector == nil {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{LabelManagedBy: ManagedBy}}
		}
	}
	for _, secret := range from.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret.Name})
	}
}

// under lays ours over theirs.
func under(ours, theirs map[string]string) map[string]string {
	if len(theirs) == 0 {
		return ours
	}
	out := maps.Clone(theirs)
	maps.Copy(out, ours)
	return out
}

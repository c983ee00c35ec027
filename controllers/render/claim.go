// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// dataVolume is the volume at DataDir.
const dataVolume = "data"

// dataClaim is the claim of the volume that a bot with SQLite keeps its file on; nil for the others. It names no kind: the
// API server fills that in, and the cache, which reads protobuf, does not show it, so that it would look like a change.
func dataClaim(in *v1alpha1.AgentInstance) *corev1.PersistentVolumeClaim {
	s := in.Spec.Storage
	if s == nil || s.Type != v1alpha1.StorageSQLite {
		return nil
	}
	size := resource.MustParse(v1alpha1.DefaultStorageSize)
	if s.Size != nil {
		size = *s.Size
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: dataVolume, Labels: selectorLabels(in.Name)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if s.StorageClassName != "" {
		claim.Spec.StorageClassName = &s.StorageClassName
	}
	return claim
}

// claimRetention says what becomes of the claim when the bot is deleted. One that is suspended keeps it always.
func claimRetention(s *v1alpha1.StorageSpec) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	deleted := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if s.Retention == v1alpha1.DeleteStorage {
		deleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: deleted, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
}

// groupChange spares a bot with a volume the change of the owner of every file at each start.
func groupChange(in *v1alpha1.AgentInstance) *corev1.PodFSGroupChangePolicy {
	if dataClaim(in) == nil {
		return nil
	}
	policy := corev1.FSGroupChangeOnRootMismatch
	return &policy
}

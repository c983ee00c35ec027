// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Only a bot with SQLite has a claim, and it is what the data directory is on.
func TestDataVolume(t *testing.T) {
	size := resource.MustParse("5Gi")
	for name, tc := range map[string]struct {
		storage *v1alpha1.StorageSpec
		size    string
		class   string
		deleted appsv1.PersistentVolumeClaimRetentionPolicyType
	}{
		"none":    {},
		"memory":  {storage: &v1alpha1.StorageSpec{Type: v1alpha1.StorageMemory}},
		"redis":   {storage: &v1alpha1.StorageSpec{Type: v1alpha1.StorageRedis, Redis: &v1alpha1.RedisSpec{Address: "r"}}},
		"default": {storage: &v1alpha1.StorageSpec{Type: v1alpha1.StorageSQLite}, size: "1Gi", deleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType},
		"all": {storage: &v1alpha1.StorageSpec{
			Type: v1alpha1.StorageSQLite, Size: &size, StorageClassName: "fast", Retention: v1alpha1.DeleteStorage,
		}, size: "5Gi", class: "fast", deleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
	} {
		t.Run(name, func(t *testing.T) {
			in := minimal(t)
			in.Instance.Spec.Storage = tc.storage
			objects, err := Render(in)
			if err != nil {
				t.Fatal(err)
			}
			spec := objects.StatefulSet.Spec
			pod := spec.Template.Spec
			scratch := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == dataVolume && v.EmptyDir != nil })
			mounted := slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.Name == dataVolume && m.MountPath == DataDir && !m.ReadOnly
			})
			if scratch != (tc.size == "") || !mounted || *pod.SecurityContext.FSGroup != userID {
				t.Errorf("scratch %v, mounted %v, fsGroup %d", scratch, mounted, *pod.SecurityContext.FSGroup)
			}
			if tc.size == "" {
				if len(spec.VolumeClaimTemplates) > 0 || spec.PersistentVolumeClaimRetentionPolicy != nil {
					t.Errorf("there is a claim: %+v", spec.VolumeClaimTemplates)
				}
				return
			}
			claim := spec.VolumeClaimTemplates[0]
			class := ""
			if claim.Spec.StorageClassName != nil {
				class = *claim.Spec.StorageClassName
			}
			if got := claim.Spec.Resources.Requests[corev1.ResourceStorage]; claim.Name != dataVolume || got.String() != tc.size || class != tc.class {
				t.Errorf("claim %s of %s, class %q", claim.Name, got.String(), class)
			}
			policy := *spec.PersistentVolumeClaimRetentionPolicy
			if policy.WhenDeleted != tc.deleted || policy.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
				t.Errorf("retention %+v", policy)
			}
		})
	}
}

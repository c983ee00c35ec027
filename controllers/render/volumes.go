// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Where the volumes are mounted.
const (
	// ConfigDir has the files of the instance's ConfigMap.
	ConfigDir = "/etc/aalis/config"
	// SecretsDir has one folder a Secret and one file a key.
	SecretsDir = "/var/run/aalis/secrets"
	// DataDir is for what the kernel keeps: the bot's volume, or else scratch space.
	DataDir = "/var/lib/aalis"

	tmpDir = "/tmp"
	apiDir = "/var/run/secrets/kubernetes.io/serviceaccount"

	// tokenSeconds is the lifetime of the API token; the kubelet renews it in time.
	tokenSeconds = 3600
)

// mounts lists the volume mounts, only the writable ones writable.
func mounts(secrets bool) []corev1.VolumeMount {
	list := []corev1.VolumeMount{
		{Name: "config", MountPath: ConfigDir, ReadOnly: true},
		{Name: dataVolume, MountPath: DataDir},
		{Name: "tmp", MountPath: tmpDir},
		{Name: "api", MountPath: apiDir, ReadOnly: true},
	}
	if secrets {
		list = append(list, corev1.VolumeMount{Name: "secrets", MountPath: SecretsDir, ReadOnly: true})
	}
	return list
}

func volumes(instance *v1alpha1.AgentInstance, secrets []kernelconfig.SecretKey) []corev1.Volume {
	scratch := resource.MustParse("64Mi")
	list := []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: ChildName(instance.Name)},
		}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &scratch}}},
		{Name: "api", VolumeSource: corev1.VolumeSource{Projected: apiAccess()}},
	}
	if dataClaim(instance) == nil {
		list = append(list, corev1.Volume{Name: dataVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: &scratch,
		}}})
	}
	if len(secrets) > 0 {
		list = append(list, corev1.Volume{Name: "secrets", VolumeSource: corev1.VolumeSource{Projected: secretKeys(secrets)}})
	}
	return list
}

// apiAccess is what the kernel needs to talk to the API server. Nothing is mounted automatically, so that a second
// container could be given none of it.
func apiAccess() *corev1.ProjectedVolumeSource {
	seconds := int64(tokenSeconds)
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
		}}}},
	}}
}

// secretKeys projects the named keys and no others. They are optional: a missing key leaves one plugin pending, not the
// pod. The keys are sorted by Secret.
func secretKeys(keys []kernelconfig.SecretKey) *corev1.ProjectedVolumeSource {
	optional, mode := true, int32(0o440)
	source := &corev1.ProjectedVolumeSource{DefaultMode: &mode}
	for _, k := range keys {
		last := len(source.Sources) - 1
		if last < 0 || source.Sources[last].Secret.Name != k.Name {
			source.Sources = append(source.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: k.Name}, Optional: &optional,
			}})
			last++
		}
		secret := source.Sources[last].Secret
		secret.Items = append(secret.Items, corev1.KeyToPath{Key: k.Key, Path: k.Name + "/" + k.Key})
	}
	return source
}

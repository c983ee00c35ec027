// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

const (
	// ContainerName is the name of the container that runs the kernel.
	ContainerName = "kernel"

	// userID is the unprivileged user of the image.
	userID = 65532
	// shutdownSlack is what a pod may take to end beyond the draining of running turns.
	shutdownSlack = 15
	// defaultDrain is used where the API server's default did not apply.
	defaultDrain = 60
	// memoryShare is the part of the memory limit, in percent, that the Go runtime aims to stay under.
	memoryShare = 90
	// revisionHistory is how many old pod templates are kept: enough to look back.
	revisionHistory = 2
)

func statefulSet(in Input, image string, ports []servedPort) *appsv1.StatefulSet {
	instance := in.Instance
	replicas, history := int32(1), int32(revisionHistory)
	if instance.Spec.State == v1alpha1.DesiredStateSuspended {
		replicas = 0
	}
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: objectMeta(instance, ChildName(instance.Name)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             &replicas,
			RevisionHistoryLimit: &history,
			ServiceName:          ChildName(instance.Name),
			// With OrderedReady a pod with a bad image could not be replaced.
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: selectorLabels(instance.Name)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels(instance.Name)},
				Spec:       podSpec(in, image, ports),
			},
		},
	}
	mergePodSettings(&set.Spec.Template, instance.Spec.PodTemplate)
	if claim := dataClaim(instance); claim != nil {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim}
		set.Spec.PersistentVolumeClaimRetentionPolicy = claimRetention(instance.Spec.Storage)
	}
	return set
}

func podSpec(in Input, image string, ports []servedPort) corev1.PodSpec {
	instance := in.Instance
	grace := int64(defaultDrain + shutdownSlack)
	if drain := instance.Spec.DrainTimeoutSeconds; drain != nil {
		grace = int64(*drain) + shutdownSlack
	}
	no, yes := false, true
	user := int64(userID)
	return corev1.PodSpec{
		ServiceAccountName:            ChildName(instance.Name),
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		TerminationGracePeriodSeconds: &grace,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes,
			RunAsUser:    &user,
			RunAsGroup:   &user,
			FSGroup:      &user,
			// A big volume is not gone through at each start.
			FSGroupChangePolicy: groupChange(instance),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{container(in, image, ports)},
		Volumes:    volumes(instance, in.Config.MountedSecrets()),
	}
}

func container(input Input, image string, ports []servedPort) corev1.Container {
	in, secrets := input.Instance, len(input.Config.MountedSecrets()) > 0
	no, yes := false, true
	resources := resourcesOf(in)
	c := corev1.Container{
		Name:            ContainerName,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/aalis"},
		Args:            append([]string{"run", "--cluster"}, input.Options.Tracing.Args()...),
		Env:             environment(in, resources),
		Resources:       resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			RunAsNonRoot:             &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		VolumeMounts:             mounts(secrets),
		StartupProbe:             probe("/livez", 1, 60),
		ReadinessProbe:           probe("/readyz", 2, 2),
		LivenessProbe:            probe("/livez", 10, 3),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, p := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: p.name, ContainerPort: p.number, Protocol: corev1.ProtocolTCP})
	}
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: MetricsPortName, ContainerPort: MetricsPort, Protocol: corev1.ProtocolTCP})
	return c
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString(MetricsPortName), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds:    period,
		TimeoutSeconds:   2,
		FailureThreshold: failures,
	}
}

// environment tells the kernel who it is. What it runs comes with the ConfigMap, so that a change needs no new pod.
func environment(in *v1alpha1.AgentInstance, resources corev1.ResourceRequirements) []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
		}}
	}
	env := []corev1.EnvVar{
		field("AALIS_NAMESPACE", "metadata.namespace"),
		{Name: "AALIS_INSTANCE", Value: in.Name},
		{Name: "AALIS_INSTANCE_UID", Value: string(in.UID)},
		field("AALIS_POD_NAME", "metadata.name"),
		field("AALIS_POD_UID", "metadata.uid"),
	}
	if limit, ok := resources.Limits[corev1.ResourceMemory]; ok && limit.Value() > 0 {
		env = append(env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: fmt.Sprintf("%dB", limit.Value()/100*memoryShare)})
	}
	return env
}

// resourcesOf gives the declared resources, or the default of the API's field documentation.
func resourcesOf(in *v1alpha1.AgentInstance) corev1.ResourceRequirements {
	if in.Spec.Resources != nil {
		return *in.Spec.Resources.DeepCopy()
	}
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("20m"),
			corev1.ResourceMemory: resource.MustParse("48Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
}

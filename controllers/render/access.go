// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func serviceAccount(in *v1alpha1.AgentInstance) *corev1.ServiceAccount {
	automount := false
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   objectMeta(in, ChildName(in.Name)),
		AutomountServiceAccountToken: &automount,
	}
}

// role lets a kernel follow its own ConfigMap and report in its own AgentReplica, and nothing else.
func role(in *v1alpha1.AgentInstance) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: objectMeta(in, ChildName(in.Name)),
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups:     []string{""},
				Resources:     []string{"configmaps"},
				ResourceNames: []string{ChildName(in.Name)},
				Verbs:         []string{"get", "list", "watch"},
			},
			{
				APIGroups:     []string{v1alpha1.GroupName},
				Resources:     []string{"agentreplicas/status"},
				ResourceNames: []string{PodName(in.Name)},
				Verbs:         []string{"patch"},
			},
		},
	}
}

func roleBinding(in *v1alpha1.AgentInstance) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: objectMeta(in, ChildName(in.Name)),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: ChildName(in.Name)},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Name: ChildName(in.Name), Namespace: in.Namespace,
		}},
	}
}

func agentReplica(in *v1alpha1.AgentInstance) *v1alpha1.AgentReplica {
	return &v1alpha1.AgentReplica{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindAgentReplica},
		ObjectMeta: objectMeta(in, PodName(in.Name)),
	}
}

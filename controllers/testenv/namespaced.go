// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// StartNamespacedOperator starts an operator that has the rights which the chart gives with watchNamespaces: a Role in each
// of the namespaces, which the caller has made from what the chart renders, and no ClusterRole.
func (e *Environment) StartNamespacedOperator(t testing.TB, namespaces []string, roles []rbacv1.Role) *Operator {
	t.Helper()
	e.Start(t)
	const name = "namespaced-operator-under-test"
	user, err := e.server.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatalf("adding the user %s: %v", name, err)
	}
	for i := range roles {
		role := &roles[i]
		role.Name += "-namespaced"
		e.Create(t, role, &rbacv1.RoleBinding{
			ObjectMeta: *role.ObjectMeta.DeepCopy(),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		})
	}
	o := e.startOperatorAs(t, user.Config(), namespaces, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !o.Elected(ctx) {
		t.Fatal("the operator did not become the leader")
	}
	return o
}

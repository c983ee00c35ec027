// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"
)

// operatorUser is who the manager is in the tests.
const operatorUser = "aalis-operator-under-test"

// grant gives the operator's user the shipped roles and no others, so that a right that is missing fails the tests.
func (e *Environment) grant(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the shipped role (make manifests writes it): %w", err)
	}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the shipped role: %w", err)
		}
		var head metav1.PartialObjectMetadata
		if err := sigsyaml.Unmarshal(document, &head); err != nil {
			return fmt.Errorf("reading the shipped role: %w", err)
		}
		switch head.Kind {
		case "ClusterRole":
			err = e.grantClusterRole(ctx, document, subject)
		case "Role":
			err = e.grantRole(ctx, document, subject)
		}
		if err != nil {
			return err
		}
	}
}

func (e *Environment) grantClusterRole(ctx context.Context, document []byte, subjects []rbacv1.Subject) error {
	var role rbacv1.ClusterRole
	if err := sigsyaml.Unmarshal(document, &role); err != nil {
		return fmt.Errorf("reading the shipped ClusterRole: %w", err)
	}
	return e.create(ctx, &role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   subjects,
	})
}

func (e *Environment) grantRole(ctx context.Context, document []byte, subjects []rbacv1.Subject) error {
	var role rbacv1.Role
	if err := sigsyaml.Unmarshal(document, &role); err != nil {
		return fmt.Errorf("reading the shipped Role: %w", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   subjects,
	}
	if role.Namespace == metav1.NamespaceDefault {
		return e.create(ctx, &role, binding)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: role.Namespace}}
	return e.create(ctx, ns, &role, binding)
}

func (e *Environment) create(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		if err := e.client.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

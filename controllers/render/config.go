// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func configMap(in Input) (*corev1.ConfigMap, error) {
	data, binaryData, err := in.Slots.Maps()
	if err != nil {
		return nil, err
	}
	meta := objectMeta(in.Instance, ChildName(in.Instance.Name))
	if in.Inputs != "" {
		meta.Annotations = map[string]string{v1alpha1.AnnotationInputs: in.Inputs}
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta,
		Data:       data,
		BinaryData: binaryData,
	}, nil
}

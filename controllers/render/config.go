// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func configMap(in Input) (*corev1.ConfigMap, error) {
	data, binaryData, err := in.Slots.Maps()
	if err != nil {
		return nil, err
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: objectMeta(in.Instance, ChildName(in.Instance.Name)),
		Data:       data,
		BinaryData: binaryData,
	}, nil
}

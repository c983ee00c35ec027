// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/api/types"
)

// checkKustomization checks a kustomize file, which is no API object and has no name.
func checkKustomization(p *problems) {
	var k types.Kustomization
	if err := k.Unmarshal(p.doc.Text); err != nil {
		p.add("%s", err)
		return
	}
	for _, problem := range k.EnforceFields() {
		p.add("%s", problem)
	}
}

// checkOutside checks an object of the Prometheus operator as far as that can be done without its types.
func checkOutside(p *problems, u *unstructured.Unstructured) {
	switch u.GetKind() {
	case "ServiceMonitor", "PodMonitor", "PrometheusRule":
	default:
		p.add("kind %s of %s is not known to this check", u.GetKind(), u.GetAPIVersion())
		return
	}
	if u.GroupVersionKind().Version != "v1" {
		p.add("apiVersion must be %s/v1, got %s", groupMonitoring, u.GetAPIVersion())
	}
	spec, found, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil || !found || len(spec) == 0 {
		p.add("spec: must be an object that is not empty")
	}
}

// checkMetadata checks what every object has: a name, and labels and annotations that an API server takes.
func checkMetadata(p *problems, u *unstructured.Unstructured) {
	path := field.NewPath("metadata")
	raw, _, err := unstructured.NestedMap(u.Object, "metadata")
	if err != nil {
		p.add("metadata: must be an object")
		return
	}
	var meta metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &meta); err != nil {
		p.add("metadata: %s", err)
		return
	}
	if meta.Name == "" && meta.GenerateName == "" {
		p.add("metadata.name: must be set")
	}
	p.addFields(metav1validation.ValidateLabels(meta.Labels, path.Child("labels")))
	p.addFields(apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations")))
}

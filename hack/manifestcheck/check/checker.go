// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Groups that are handled in a way of their own.
const (
	groupMonitoring = "monitoring.coreos.com"
	groupKustomize  = "kustomize.config.k8s.io"
)

// Checker checks manifests. Make one with New; it may be used again and again.
type Checker struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
	customs customs
}

// New makes a Checker that knows the CRDs in a directory. Every one of them must itself be valid.
func New(ctx context.Context, crdDir string) (*Checker, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		coordinationv1.AddToScheme, aalisv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	c := &Checker{
		scheme:  scheme,
		decoder: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(),
		customs: customs{},
	}
	if err := c.loadCRDs(ctx, crdDir); err != nil {
		return nil, fmt.Errorf("loading the CRDs of %s: %w", crdDir, err)
	}
	return c, nil
}

// File checks every document of a file. It returns the number of objects in it and what is wrong with them.
func (c *Checker) File(ctx context.Context, data []byte) (int, []Problem) {
	docs := Split(data)
	var found []Problem
	seen := map[string]int{}
	for _, doc := range docs {
		p := &problems{doc: doc}
		identity := c.document(ctx, p)
		if first, twice := seen[identity]; identity != "" && twice {
			p.add("is declared twice: document %d has the same kind, namespace and name", first)
		} else {
			seen[identity] = doc.Number
		}
		found = append(found, p.found...)
	}
	return len(docs), found
}

// document checks one document and returns what identifies its object, or nothing when that cannot be told.
func (c *Checker) document(ctx context.Context, p *problems) string {
	var content map[string]any
	if err := yaml.UnmarshalStrict(p.doc.Text, &content); err != nil {
		p.add("is not a YAML mapping without doubled keys: %s", err)
		return ""
	}
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if apiVersion == "" || kind == "" {
		p.add("apiVersion and kind must be set to strings")
		return ""
	}
	p.object = kind
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	if gvk.Group == groupKustomize {
		checkKustomization(p)
		return ""
	}
	data, err := yaml.YAMLToJSON(p.doc.Text)
	if err != nil {
		p.add("is not YAML: %s", err)
		return ""
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		p.add("%s", err)
		return ""
	}
	if name := u.GetName(); name != "" {
		p.object = kind + "/" + name
	}
	switch {
	case kind == "List" || u.IsList():
		p.add("a list cannot be checked: write its items as documents")
		return ""
	case gvk.Group == groupMonitoring:
		checkOutside(p, u)
	case !c.scheme.Recognizes(gvk) && !c.customs.knows(gvk):
		p.add("kind %s of %s is not known to this check", kind, apiVersion)
	default:
		c.known(ctx, p, data, u)
	}
	checkMetadata(p, u)
	return fmt.Sprintf("%s/%s/%s/%s", gvk.Group, kind, u.GetNamespace(), u.GetName())
}

// known checks an object whose type or CRD is at hand.
func (c *Checker) known(ctx context.Context, p *problems, data []byte, u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	if c.scheme.Recognizes(gvk) {
		obj, _, err := c.decoder.Decode(data, nil, nil)
		if err != nil {
			p.addDecoding(err)
			return
		}
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			c.checkCRD(ctx, p, crd)
		}
	}
	if c.customs.knows(gvk) {
		c.customs.check(ctx, p, u)
	}
}

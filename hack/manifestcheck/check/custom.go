// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// customs are the custom kinds that a Checker knows, by version.
type customs map[schema.GroupVersionKind]custom

// custom is what an API server makes of one version of a CRD.
type custom struct {
	structural *structural.Structural
	validator  schemavalidation.SchemaValidator
	rules      *cel.Validator
}

func (c customs) knows(gvk schema.GroupVersionKind) bool {
	_, ok := c[gvk]
	return ok
}

// check does to an object what an API server does on create: unknown fields, defaults, schema, list keys, rules. It
// changes the object.
func (c customs) check(ctx context.Context, p *problems, u *unstructured.Unstructured) {
	k := c[u.GroupVersionKind()]
	unknown := pruning.PruneWithOptions(u.Object, k.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		p.add("unknown field %q: the CRD does not have it", path)
	}
	defaulting.Default(u.Object, k.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, k.structural)
	before := len(p.found)
	p.addFields(schemavalidation.ValidateCustomResource(nil, u.Object, k.validator))
	p.addFields(objectmeta.Validate(ctx, nil, u.Object, k.structural, true))
	p.addFields(listtype.ValidateListSetsAndMaps(nil, k.structural, u.Object))
	if k.rules == nil || len(p.found) > before {
		// As in an API server, rules see only objects that fit their schema.
		return
	}
	errs, _ := k.rules.Validate(ctx, nil, k.structural, u.Object, nil, celconfig.RuntimeCELCostBudget)
	p.addFields(errs)
}

// loadCRDs reads the CRDs of a directory. Any mistake in them is an error: nothing can be checked against them then.
func (c *Checker) loadCRDs(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	if len(files) == 0 {
		return errors.New("there is no *.yaml file")
	}
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		for _, doc := range Split(data) {
			if err := c.loadCRD(ctx, doc); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func (c *Checker) loadCRD(ctx context.Context, doc Document) error {
	obj, _, err := c.decoder.Decode(doc.Text, nil, nil)
	if err != nil {
		return fmt.Errorf("document %d: %w", doc.Number, err)
	}
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return fmt.Errorf("document %d: must be a CustomResourceDefinition, got %T", doc.Number, obj)
	}
	p := &problems{doc: doc}
	internal := c.checkCRD(ctx, p, crd)
	if len(p.found) > 0 {
		return errors.New(p.found[0].String())
	}
	for _, version := range internal.Spec.Versions {
		k, err := newCustom(internal, version.Name)
		if err != nil {
			return fmt.Errorf("%s %s: %w", internal.Name, version.Name, err)
		}
		c.customs[schema.GroupVersionKind{Group: internal.Spec.Group, Version: version.Name, Kind: internal.Spec.Names.Kind}] = k
	}
	return nil
}

func newCustom(crd *apiextensions.CustomResourceDefinition, version string) (custom, error) {
	props, err := apiextensions.GetSchemaForVersion(crd, version)
	if err != nil {
		return custom{}, fmt.Errorf("finding the schema: %w", err)
	}
	s, err := structural.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		return custom{}, fmt.Errorf("making the schema structural: %w", err)
	}
	validator, _, err := schemavalidation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		return custom{}, fmt.Errorf("making the validator: %w", err)
	}
	return custom{structural: s, validator: validator, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}, nil
}

// checkCRD checks a CRD as an API server does on create and returns its internal form, or nil when it has none.
func (c *Checker) checkCRD(ctx context.Context, p *problems, crd *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	crd = crd.DeepCopy()
	c.scheme.Default(crd)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := c.scheme.Convert(crd, internal, nil); err != nil {
		p.add("%s", err)
		return nil
	}
	// The status is the server's to write.
	internal.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, v := range internal.Spec.Versions {
		if v.Storage {
			internal.Status.StoredVersions = append(internal.Status.StoredVersions, v.Name)
		}
	}
	p.addFields(validation.ValidateCustomResourceDefinition(ctx, internal))
	return internal
}

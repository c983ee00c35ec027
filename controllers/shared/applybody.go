// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hashLength is the number of hexadecimal digits of a content hash.
const hashLength = 16

// applyBody is an apply configuration whose body is ready made. Going without the generated configurations keeps
// their schemas out of the operator's memory; being typed, it takes part in the client's read-your-writes.
type applyBody struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	content         map[string]any

	// ResourceVersion of the object that the server answered with; the client reads it by this name.
	ResourceVersion *string
}

// newApplyBody adds the identity, the hash and, if any, the locked resource version to a copy of the content.
func newApplyBody(gvk schema.GroupVersionKind, obj client.Object, content map[string]any, hash, version string) *applyBody {
	body := maps.Clone(content)
	metadata, _ := body["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[AnnotationAppliedHash] = hash
	metadata["annotations"] = annotations
	if version != "" {
		metadata["resourceVersion"] = version
	}
	body["metadata"] = metadata
	body["apiVersion"], body["kind"] = gvk.ToAPIVersionAndKind()
	return &applyBody{gvk: gvk, namespace: obj.GetNamespace(), name: obj.GetName(), content: body}
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (b *applyBody) IsApplyConfiguration() {}

// GetName gives the object's name.
func (b *applyBody) GetName() *string { return &b.name }

// GetNamespace gives the object's namespace.
func (b *applyBody) GetNamespace() *string { return &b.namespace }

// GetKind gives the object's kind.
func (b *applyBody) GetKind() *string { return &b.gvk.Kind }

// GetAPIVersion gives the object's group and version.
func (b *applyBody) GetAPIVersion() *string {
	v := b.gvk.GroupVersion().String()
	return &v
}

// MarshalJSON gives the body of the request.
func (b *applyBody) MarshalJSON() ([]byte, error) { return json.Marshal(b.content) }

// UnmarshalJSON takes the resource version out of the answer and drops the rest.
func (b *applyBody) UnmarshalJSON(data []byte) error {
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("reading the answer to an apply: %w", err)
	}
	b.ResourceVersion = &answer.Metadata.ResourceVersion
	return nil
}

// Content gives the fields of a typed object that are applied: everything but its status and what only the server
// sets.
func Content(obj client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"status", "apiVersion", "kind"} {
		delete(content, key)
	}
	dropNulls(content)
	return content, nil
}

// dropNulls removes null values: typed objects have them where a time is not set.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			dropNulls(e)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

// Hash of content: 16 hexadecimal digits, the same for equal content.
func Hash(content map[string]any) (string, error) {
	data, err := json.Marshal(content) // map keys are sorted
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

var _ runtime.ApplyConfiguration = (*applyBody)(nil)

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
)

// Overlay gives the objects as they would be after applying files to a cluster. Where kubectl apply has left its note of
// what it applied last, a field that the files no longer have is removed and what others set stays, as in a real apply;
// without that note the spec and the labels of the file replace those of the cluster, except for the fields of the
// managers in keep.
func Overlay(live, files cluster.Objects, keep ...string) (cluster.Objects, error) {
	var out cluster.Objects
	var err error
	if out.Instances, err = overlay(live.Instances, files.Instances, keep); err != nil {
		return out, err
	}
	if out.Plugins, err = overlay(live.Plugins, files.Plugins, keep); err != nil {
		return out, err
	}
	if out.Personas, err = overlay(live.Personas, files.Personas, keep); err != nil {
		return out, err
	}
	if out.ServicePreferences, err = overlay(live.ServicePreferences, files.ServicePreferences, keep); err != nil {
		return out, err
	}
	if out.AuthorityPolicies, err = overlay(live.AuthorityPolicies, files.AuthorityPolicies, keep); err != nil {
		return out, err
	}
	out.TenantPolicies, err = overlay(live.TenantPolicies, files.TenantPolicies, keep)
	return out, err
}

// object of the API, as overlay needs it.
type object[T any] interface {
	*T
	metav1.Object
}

func overlay[T any, P object[T]](live, files []T, keep []string) ([]T, error) {
	out := slices.Clone(live)
	for i := range files {
		file := P(&files[i])
		at := slices.IndexFunc(live, func(l T) bool {
			return P(&l).GetName() == file.GetName() && P(&l).GetNamespace() == file.GetNamespace()
		})
		if at < 0 {
			out = append(out, files[i])
			continue
		}
		merged, err := merge[T, P](live[at], files[i], keep)
		if err != nil {
			return nil, fmt.Errorf("overlaying %T %s: %w", file, file.GetName(), err)
		}
		out[at] = merged
	}
	return out, nil
}

func merge[T any, P object[T]](live, file T, keep []string) (T, error) {
	var out T
	current, err := json.Marshal(live)
	if err != nil {
		return out, err
	}
	modified, err := json.Marshal(file)
	if err != nil {
		return out, err
	}
	last := P(&live).GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if last == "" || !json.Valid([]byte(last)) {
		return replace[T, P](live, current, modified, keep)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(last), modified, current)
	if err != nil {
		return out, err
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(merged, &out)
}

// replace takes spec and labels from the file and the rest from the cluster.
func replace[T any, P object[T]](live T, current, modified []byte, keep []string) (T, error) {
	var out T
	var was, will struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(current, &was); err != nil {
		return out, err
	}
	if err := json.Unmarshal(modified, &will); err != nil {
		return out, err
	}
	for _, field := range ownedFields(P(&live).GetManagedFields(), keep) {
		if _, given := will.Spec[field]; !given && was.Spec[field] != nil {
			if will.Spec == nil {
				will.Spec = map[string]json.RawMessage{}
			}
			will.Spec[field] = was.Spec[field]
		}
	}
	var file T
	if err := json.Unmarshal(modified, &file); err != nil {
		return out, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(current, &whole); err != nil {
		return out, err
	}
	spec, err := json.Marshal(will.Spec)
	if err != nil {
		return out, err
	}
	whole["spec"] = spec
	merged, err := json.Marshal(whole)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(merged, &out); err != nil {
		return out, err
	}
	P(&out).SetLabels(P(&file).GetLabels())
	return out, nil
}

// ownedFields lists the fields right below spec in which a manager owns something.
func ownedFields(managed []metav1.ManagedFieldsEntry, managers []string) []string {
	var out []string
	for _, m := range managed {
		if !slices.Contains(managers, m.Manager) || m.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for name := range fields.Spec {
			if field, ok := strings.CutPrefix(name, "f:"); ok {
				out = append(out, field)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
)

// Limit is how many revisions of an object are kept.
const Limit = 10

// Revision is what the cache knows of one revision.
type Revision struct {
	// Object is the name of the ControllerRevision, UID its identity.
	Object string
	UID    string
	// Number grows with each change of the object.
	Number int64
	// Hash of the content.
	Hash string
	// Own tells that it belongs to the object that is there now, not to an earlier one of the same name.
	Own bool
}

// Content is the spec that a revision keeps. One of the two is set.
type Content struct {
	Persona *v1alpha1.PersonaSpec
	Plugin  *v1alpha1.PluginSpec
}

// ErrKind says that objects of a kind have no revisions.
var ErrKind = errors.New("only Personas and Plugins have revisions")

// Of gives the content of an object: its spec without the roll-out, which is about revisions and not part of one.
func Of(obj runtime.Object) (Content, error) {
	switch o := obj.(type) {
	case *v1alpha1.Persona:
		spec := o.Spec.DeepCopy()
		spec.Rollout = nil
		return Content{Persona: spec}, nil
	case *v1alpha1.Plugin:
		spec := o.Spec.DeepCopy()
		spec.Rollout = nil
		return Content{Plugin: spec}, nil
	}
	return Content{}, fmt.Errorf("%T: %w", obj, ErrKind)
}

// Encode gives the bytes of a content and their hash. The same content always gives the same bytes.
func (c Content) Encode() (data []byte, hash string, err error) {
	var spec any = c.Persona
	if c.Plugin != nil {
		spec = c.Plugin
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, "", fmt.Errorf("encoding a spec: %w", err)
	}
	// Keys of the free config are sorted too, so that another writer's order makes no other revision.
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a number stays as it was written
	if err := decoder.Decode(&tree); err != nil {
		return nil, "", fmt.Errorf("encoding a spec: %w", err)
	}
	if data, err = json.Marshal(tree); err != nil {
		return nil, "", fmt.Errorf("encoding a spec: %w", err)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:8]), nil
}

// Decode reads the content of a revision of the kind.
func Decode(kind string, data []byte) (Content, error) {
	var c Content
	var into any
	switch kind {
	case v1alpha1.KindPersona:
		c.Persona = &v1alpha1.PersonaSpec{}
		into = c.Persona
	case v1alpha1.KindPlugin:
		c.Plugin = &v1alpha1.PluginSpec{}
		into = c.Plugin
	default:
		return c, fmt.Errorf("kind %s: %w", kind, ErrKind)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return Content{}, fmt.Errorf("reading the revision of a %s: %w", kind, err)
	}
	return c, nil
}

// Name is the name of a ControllerRevision. One that would be too long is cut and has a hash of the object's name in it.
func Name(kind, name string, number int64) string {
	prefix, suffix := "aalis-"+strings.ToLower(kind)+"-", fmt.Sprintf("-%d", number)
	return prefix + bounded(name, validation.DNS1123SubdomainMaxLength-len(prefix)-len(suffix)) + suffix
}

// Labels of the revisions of an object.
func Labels(kind, name string) map[string]string {
	return map[string]string{
		v1alpha1.LabelRevisionKind: kind,
		v1alpha1.LabelRevisionName: bounded(name, validation.LabelValueMaxLength),
	}
}

// bounded cuts a name to a length, with a hash of the whole at its end. Object names are ASCII.
func bounded(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := hex.EncodeToString(sum[:5])
	return strings.TrimRight(name[:limit-len(tail)-1], "-.") + "-" + tail
}

// build makes the ControllerRevision of an owner.
func build(owner metav1.Object, kind string, number int64, data []byte, hash string) *appsv1.ControllerRevision {
	labels := Labels(kind, owner.GetName())
	labels[render.LabelManagedBy] = render.ManagedBy
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(kind, owner.GetName(), number), Namespace: owner.GetNamespace(), Labels: labels,
			Annotations:     map[string]string{v1alpha1.AnnotationRevisionHash: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

// Newest is the newest of an object's own revisions; nil if it has none.
func Newest(list []Revision) *Revision {
	var newest *Revision
	for i := range list {
		if r := &list[i]; r.Own && (newest == nil || r.Number > newest.Number) {
			newest = r
		}
	}
	return newest
}

// Live is the number of the newest revision if that is of the given content; 0 if the content is not recorded yet.
func Live(list []Revision, hash string) int64 {
	if newest := Newest(list); newest != nil && newest.Hash == hash {
		return newest.Number
	}
	return 0
}

// Hash of the content of a revision; empty if there is no such revision.
func Hash(list []Revision, number int64) string {
	for _, r := range list {
		if r.Own && r.Number == number {
			return r.Hash
		}
	}
	return ""
}

// Numbers lists the numbers of an object's own revisions, sorted.
func Numbers(list []Revision) []int64 {
	var out []int64
	for _, r := range list {
		if r.Own {
			out = append(out, r.Number)
		}
	}
	slices.Sort(out)
	return out
}

// next is the number of a new revision: greater than any of the name, an earlier object's included, which the garbage
// collector may not have removed yet.
func next(list []Revision) int64 {
	most := int64(0)
	for _, r := range list {
		most = max(most, r.Number)
	}
	return most + 1
}

// Surplus lists what may go, the oldest first, so that at most limit stay. The newest and what is in use stay in any case. A
// revision whose content a newer one has again goes first: it is the same one, moved to the front.
func Surplus(list []Revision, inUse map[int64]bool, limit int) []Revision {
	var own []Revision
	newest := map[string]int64{}
	for _, r := range list {
		if r.Own {
			own = append(own, r)
			newest[r.Hash] = max(newest[r.Hash], r.Number)
		}
	}
	slices.SortFunc(own, func(a, b Revision) int { return int(a.Number - b.Number) })
	var out []Revision
	left := len(own)
	for _, again := range []bool{true, false} {
		for i, r := range own {
			repeated := newest[r.Hash] != r.Number
			if i == len(own)-1 || inUse[r.Number] || repeated != again || !again && left <= limit {
				continue
			}
			out = append(out, r)
			left--
		}
	}
	return out
}

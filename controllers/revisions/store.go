// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// IndexOwner is the field index of ControllerRevisions by the object that they are of: "Persona/owl".
const IndexOwner = "metadata.ownerReferences.controller"

// remembered is how many contents a Store keeps: those of the pins and of the roll-outs that are under way. Of hashes it
// keeps more: the bots of one object are looked at one after the other.
const (
	remembered       = 64
	rememberedHashes = 1024
)

// SetupIndex adds the index to the cache. It is called once, before the cache starts.
func SetupIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &appsv1.ControllerRevision{}, IndexOwner, func(obj client.Object) []string {
		if owner := metav1.GetControllerOf(obj); owner != nil {
			return []string{owner.Kind + "/" + owner.Name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing ControllerRevisions: %w", err)
	}
	return nil
}

// Slim drops from a ControllerRevision, before it is cached, what it contains: that is read when it is needed.
func Slim(obj any) (any, error) {
	if r, ok := obj.(*appsv1.ControllerRevision); ok {
		r.Data.Raw, r.Data.Object = nil, nil
		r.ManagedFields = nil
	}
	return obj, nil
}

// Store reads revisions.
type Store struct {
	live     client.Reader
	contents *lru.Cache
	hashes   *lru.Cache
}

// NewStore makes a Store that reads contents with live, straight from the API server.
func NewStore(live client.Reader) *Store {
	return &Store{live: live, contents: lru.New(remembered), hashes: lru.New(rememberedHashes)}
}

// generation names an object as it was at one generation: its spec does not change within it.
type generation struct {
	uid    types.UID
	number int64
}

// Hash is the hash of the content of an object.
func (s *Store) Hash(obj client.Object) (string, error) {
	key := generation{obj.GetUID(), obj.GetGeneration()}
	if hash, ok := s.hashes.Get(key); ok && key.uid != "" {
		return hash.(string), nil
	}
	content, err := Of(obj)
	if err != nil {
		return "", err
	}
	_, hash, err := content.Encode()
	if err != nil {
		return "", fmt.Errorf("%s: %w", obj.GetName(), err)
	}
	s.hashes.Add(key, hash)
	return hash, nil
}

// List lists the revisions of an object from a cache, in no order. UID is that of the object that is there now.
func List(ctx context.Context, cache client.Reader, namespace, kind, name string, uid types.UID) ([]Revision, error) {
	var list appsv1.ControllerRevisionList
	err := cache.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{IndexOwner: kind + "/" + name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the revisions of %s %s: %w", kind, name, err)
	}
	out := make([]Revision, 0, len(list.Items))
	for i := range list.Items {
		r := &list.Items[i]
		out = append(out, Revision{
			Object: r.Name, UID: string(r.UID), Number: r.Revision, Hash: r.Annotations[v1alpha1.AnnotationRevisionHash],
			Own: metav1.GetControllerOf(r).UID == uid && r.DeletionTimestamp.IsZero(),
		})
	}
	return out, nil
}

// Load reads what a revision contains. False says that it is gone by now.
func (s *Store) Load(ctx context.Context, namespace, kind string, r Revision) (Content, bool, error) {
	if c, ok := s.contents.Get(r.UID); ok {
		return c.(Content), true, nil
	}
	var obj appsv1.ControllerRevision
	err := s.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: r.Object}, &obj)
	if apierrors.IsNotFound(err) || err == nil && string(obj.UID) != r.UID {
		return Content{}, false, nil
	}
	if err != nil {
		return Content{}, false, fmt.Errorf("reading ControllerRevision %s: %w", r.Object, err)
	}
	c, err := Decode(kind, obj.Data.Raw)
	if err != nil {
		return Content{}, false, fmt.Errorf("ControllerRevision %s: %w", r.Object, err)
	}
	s.contents.Add(r.UID, c)
	return c, true, nil
}

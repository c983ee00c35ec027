// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
)

// secretDocument is a core Secret. Its data stay text, so that a value that is no base64 gets an error that names the key
// and not the value.
type secretDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Immutable         *bool             `json:"immutable"`
	Data              map[string]string `json:"data"`
	StringData        map[string]string `json:"stringData"`
	Type              string            `json:"type"`
}

// secret keeps the values of a Secret; stringData wins over data, as in a cluster.
func (r *reader) secret(d document, data []byte) error {
	var s secretDocument
	if err := d.strict(data, &s, "Secret", ""); err != nil {
		return err
	}
	if err := r.unique(d, "Secret", s.Namespace, s.Name); err != nil {
		return err
	}
	namespace := s.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	values := r.set.Secrets[namespace]
	if values == nil {
		values = secrets.Map{}
		r.set.Secrets[namespace] = values
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		raw, err := base64.StdEncoding.DecodeString(s.Data[key])
		if err != nil {
			return fmt.Errorf("%s: Secret %s: data.%s: must be base64; plain text belongs under stringData", d.at("data."+key), s.Name, key)
		}
		values[secrets.Key{Name: s.Name, Key: key}] = string(raw)
	}
	for key, v := range s.StringData {
		values[secrets.Key{Name: s.Name, Key: key}] = v
	}
	return nil
}

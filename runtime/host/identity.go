// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// onlyCluster is the cluster of a bot that is not told which one it is in.
const onlyCluster = "default"

// identitySettings is the top-level key that tells plugins who the bot is. Without a UID (a pod of an older operator)
// there is none, and plugins that need it say so.
func identitySettings(cluster, namespace, uid string) map[string]json.RawMessage {
	if uid == "" {
		return nil
	}
	raw, err := json.Marshal(store.Identity{Cluster: cmp.Or(cluster, onlyCluster), Namespace: namespace, UID: uid})
	if err != nil { // three texts always have a JSON form
		return nil
	}
	return map[string]json.RawMessage{store.IdentitySetting.Key(): raw}
}

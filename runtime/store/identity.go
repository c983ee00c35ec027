// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// IdentitySetting is the top-level config key under which the host tells a bot who it is.
var IdentitySetting = kernel.NewSetting[Identity]("identity")

// Identity tells a bot from all others, also from one of the same name that was deleted before.
type Identity struct {
	// Cluster the bot runs in.
	Cluster string `json:"cluster"`
	// Namespace of its AgentInstance.
	Namespace string `json:"namespace"`
	// UID of its AgentInstance.
	UID string `json:"uid"`
}

// Prefix is what every key of the bot starts with on a server that bots share. The braces keep the keys of a bot
// together on one node of a sharded server.
func (i Identity) Prefix() (string, error) {
	for _, part := range [...]struct{ name, value string }{
		{"cluster", i.Cluster}, {"namespace", i.Namespace}, {"uid", i.UID},
	} {
		switch {
		case part.value == "":
			return "", fmt.Errorf("identity.%s: must not be empty, or bots that share a server could not be told apart", part.name)
		case strings.ContainsAny(part.value, "/{}:"):
			return "", fmt.Errorf("identity.%s: may not contain any of / { } and :, got %q", part.name, part.value)
		}
	}
	return "aalis:{" + i.Cluster + "/" + i.Namespace + "/" + i.UID + "}:", nil
}

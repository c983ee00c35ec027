// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import "github.com/aalis-dev/aalis-operator/runtime/kernel"

// Service is the key of the service authority.
var Service = kernel.NewService[Authority]("authority")

// Authority knows what people may do. Operations whose limits depend on more than their declaration ask it; where there
// is none, they must refuse.
type Authority interface {
	// IsOwner tells whether somebody is an owner of the bot. Nobody is without a user id.
	IsOwner(platform, userID string) bool
	// Level of somebody who is not an owner: 0 for who is not known, negative for who is banned.
	Level(platform, userID string) int
}

// Reaches tells whether somebody is an owner or has at least a level. It is false for everybody without an Authority.
func Reaches(k *kernel.Context, platform, userID string, level int) bool {
	a, ok := Service.Get(k)
	return ok && (a.IsOwner(platform, userID) || a.Level(platform, userID) >= level)
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command coredns is the DNS server of the development cluster: CoreDNS with
// the plugins that a cluster needs and none of the cloud providers' SDKs.
// hack/cluster packs it into an image; it is never part of a release.
package main

import (
	"github.com/coredns/coredns/coremain"

	// The plugins register themselves; a Corefile may use these and no others.
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func main() {
	coremain.Run()
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// defaultPorts of the URL schemes that name something a plugin connects to.
var defaultPorts = map[string]int32{"http": 80, "https": 443, "ws": 80, "wss": 443, "redis": 6379, "rediss": 6379}

const httpsPort = 443

// targets are where the plugins of a config want to connect to.
type targets struct {
	namespaces []string // of in-cluster hosts, sorted
	ports      []int32  // of public hosts, sorted; never empty
}

// findTargets reads every URL in the configs of the plugins that are not disabled, defaults included.
func findTargets(config kernelconfig.Config, cat catalog.Catalog, more ...string) targets {
	namespaces, ports := map[string]bool{}, map[int32]bool{}
	visit := func(u *url.URL) {
		port, ok := portNumber(u)
		if !ok {
			return
		}
		ns, inCluster, public := classify(u.Hostname(), config.Namespace)
		if inCluster {
			namespaces[ns] = true
		}
		if public {
			ports[port] = true
		}
	}
	for _, address := range more {
		eachURL(address, visit)
	}
	for _, p := range config.Plugins {
		if p.Disabled {
			continue
		}
		settings := p.Config
		if module, ok := cat.Lookup(p.Module); ok {
			settings = module.Config.WithDefaults(p.Config)
		}
		eachURL(settings, visit)
	}
	if len(ports) == 0 {
		ports[httpsPort] = true
	}
	return targets{namespaces: slices.Sorted(maps.Keys(namespaces)), ports: slices.Sorted(maps.Keys(ports))}
}

// eachURL visits every text in a config that is, as a whole, a URL of a known scheme.
func eachURL(value any, visit func(*url.URL)) {
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			eachURL(e, visit)
		}
	case []any:
		for _, e := range v {
			eachURL(e, visit)
		}
	case string:
		u, err := url.Parse(strings.TrimSpace(v))
		if err == nil && u.Host != "" && defaultPorts[strings.ToLower(u.Scheme)] != 0 {
			visit(u)
		}
	}
}

func portNumber(u *url.URL) (int32, bool) {
	if u.Port() == "" {
		return defaultPorts[strings.ToLower(u.Scheme)], true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return int32(n), err == nil && n > 0
}

// classify says which namespace a host name lies in, if in the cluster, and whether it may be public. A name of two
// labels may be either: a Service and its namespace, or a public domain. An address is never in the cluster: a private
// one needs an egress rule of its own.
func classify(host, own string) (namespace string, inCluster, public bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		special := addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
		return "", false, !special
	}
	labels := strings.Split(host, ".")
	if svc := slices.Index(labels, "svc"); svc >= 2 {
		return labels[svc-1], isLabel(labels[svc-1]), false
	}
	switch {
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return "", false, false
	case len(labels) == 1:
		return own, own != "", false
	case len(labels) == 2:
		return labels[1], isLabel(labels[1]), true
	}
	return "", false, true
}

// isLabel tells whether a text can be the name of a namespace, and so the value of a label.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apiServers gives the addresses of the API server, as its own EndpointSlices say.
func (r *Reconciler) apiServers(ctx context.Context) ([]netip.AddrPort, error) {
	var list discoveryv1.EndpointSliceList
	if err := r.Cache.List(ctx, &list, client.InNamespace(apiServerNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the EndpointSlices of the API server: %w", err)
	}
	var servers []netip.AddrPort
	for i := range list.Items {
		if isAPIServerSlice(&list.Items[i]) {
			servers = append(servers, addresses(&list.Items[i])...)
		}
	}
	return servers, nil
}

// addresses combines every address of a slice with every port. Whether an endpoint is ready does not matter: one that
// comes back should not find its policy gone.
func addresses(slice *discoveryv1.EndpointSlice) []netip.AddrPort {
	var out []netip.AddrPort
	for _, endpoint := range slice.Endpoints {
		for _, address := range endpoint.Addresses {
			addr, err := netip.ParseAddr(address)
			if err != nil {
				continue
			}
			for _, port := range slice.Ports {
				if port.Port != nil && *port.Port > 0 && *port.Port <= 65535 {
					out = append(out, netip.AddrPortFrom(addr, uint16(*port.Port)))
				}
			}
		}
	}
	return out
}

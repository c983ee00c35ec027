// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// guardPriority is the place of the routing rule that EnsureBridge adds; it tells our rule from others.
const guardPriority = "9610"

// EnsureBridge makes a node's bridge with its address, unless it is there. What comes from the bridge for an address
// of a Service that kube-proxy does not translate, as while the API server is away, is unreachable: it would go out to
// the machine's gateway, past the firewall, where kube-router accepts all that its policies allow.
func EnsureBridge(ctx context.Context, ns Namespace, name, address, serviceCIDR string) error {
	if !ns.has(ctx, name) {
		if _, err := ns.run(ctx, "", "ip", "link", "add", "name", name, "type", "bridge"); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{"ip", "address", "replace", address, "dev", name},
		{"ip", "link", "set", "dev", name, "up"},
	} {
		if _, err := ns.run(ctx, "", argv...); err != nil {
			return err
		}
	}
	if err := removeGuard(ctx, ns); err != nil {
		return err
	}
	_, err := ns.run(ctx, "", "ip", "rule", "add", "priority", guardPriority, "iif", name, "to", serviceCIDR, "unreachable")
	return err
}

// removeGuard removes the rule of EnsureBridge, if it is there.
func removeGuard(ctx context.Context, ns Namespace) error {
	rules, err := ns.run(ctx, "", "ip", "rule", "show", "priority", guardPriority)
	if err != nil || strings.TrimSpace(rules) == "" {
		return err
	}
	_, err = ns.run(ctx, "", "ip", "rule", "del", "priority", guardPriority)
	return err
}

// RemoveBridge removes a bridge and the pods' interfaces that hang on it, and the rule that EnsureBridge added.
func RemoveBridge(ctx context.Context, name string) error {
	if err := removeGuard(ctx, Namespace{}); err != nil {
		return err
	}
	if _, err := net.InterfaceByName(name); err != nil {
		return nil //nolint:nilerr // a bridge that cannot be found is a bridge that is gone
	}
	dump, err := run(ctx, "", "ip", "-json", "link", "show", "master", name)
	if err != nil {
		return err
	}
	ports, err := linkNames(dump)
	if err != nil {
		return err
	}
	for _, port := range ports {
		if _, err := run(ctx, "", "ip", "link", "delete", "dev", port); err != nil && exists(port) {
			return err
		}
	}
	_, err = run(ctx, "", "ip", "link", "delete", "dev", name)
	return err
}

func exists(link string) bool {
	_, err := net.InterfaceByName(link)
	return err == nil
}

// linkNames reads the names from the JSON of "ip link show".
func linkNames(dump string) ([]string, error) {
	if strings.TrimSpace(dump) == "" {
		return nil, nil
	}
	var links []struct {
		Name string `json:"ifname"`
	}
	if err := json.Unmarshal([]byte(dump), &links); err != nil {
		return nil, fmt.Errorf("reading the list of interfaces: %w", err)
	}
	var out []string
	for _, l := range links {
		if l.Name != "" {
			out = append(out, l.Name)
		}
	}
	return out, nil
}

// CheckAddresses refuses a machine that already uses one of the cluster's
// ranges for something else than the cluster's own bridges.
func CheckAddresses(ranges, bridges []string) error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("listing the interfaces: %w", err)
	}
	var errs []error
	for _, i := range interfaces {
		if slices.Contains(bridges, i.Name) {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue // the interface has gone meanwhile
		}
		for _, a := range addrs {
			ipnet, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			for _, r := range ranges {
				if _, cidr, err := net.ParseCIDR(r); err == nil && cidr.Contains(ipnet.IP) {
					errs = append(errs, fmt.Errorf("interface %s has address %s, which is in the cluster's range %s", i.Name, ipnet.IP, r))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// setPrefixes start the names of the address sets that kube-router makes.
var setPrefixes = []string{"KUBE-SRC-", "KUBE-DST-", "inet6:KUBE-SRC-", "inet6:KUBE-DST-", "TMP-"}

// AddressSets returns the names of kube-router's address sets.
func AddressSets(ctx context.Context) ([]string, error) {
	out, err := run(ctx, "", "ipset", "list", "-name")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(name string) bool {
		return !slices.ContainsFunc(setPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}), nil
}

// RemoveAddressSets destroys kube-router's address sets, which must not be in
// use by a chain any more.
func RemoveAddressSets(ctx context.Context) error {
	names, err := AddressSets(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if _, err := run(ctx, "", "ipset", "destroy", name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

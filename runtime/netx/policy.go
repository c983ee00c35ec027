// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netx

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Setting is the top-level config key "network" that carries the Policy. Absent means that nothing extra is allowed.
var Setting = kernel.NewSetting[Policy]("network")

// Policy says which addresses declared endpoints may have beyond the ordinary ones.
type Policy struct {
	// AllowLoopback lets endpoints be on the same machine. Sensible on a laptop, not in a pod.
	AllowLoopback bool `json:"allowLoopback"`
}

// PolicyOf reads the policy in effect. A setting that cannot be read counts as absent.
func PolicyOf(k *kernel.Context) Policy {
	p, _, err := Setting.Get(k)
	if err != nil {
		return Policy{}
	}
	return p
}

// ErrAddressRefused is wrapped by every error about an address or host that the policy does not allow. Trying again does
// not help.
var ErrAddressRefused = errors.New("address is not allowed")

// CheckAddr reports why an address may not be dialled, or nil. IPv4 addresses inside IPv6 ones count as themselves.
func (p Policy) CheckAddr(addr netip.Addr) error {
	if !addr.IsValid() {
		return refused("an invalid address")
	}
	addr = Plain(addr)
	switch {
	case addr.IsLoopback():
		return p.loopback(addr.String())
	case IsMetadata(addr):
		return refused(addr.String() + " is a metadata address")
	case addr.IsLinkLocalUnicast(), addr.IsLinkLocalMulticast():
		return refused(addr.String() + " is link-local")
	case addr.IsUnspecified():
		return refused(addr.String() + " is no address of a server")
	case addr.IsMulticast(), addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return refused(addr.String() + " is multicast or broadcast")
	default:
		return nil
	}
}

func (p Policy) loopback(what string) error {
	if p.AllowLoopback {
		return nil
	}
	return refused(what + " is loopback")
}

func refused(why string) error { return fmt.Errorf("%w: %s", ErrAddressRefused, why) }

// IsMetadata knows the metadata services of clouds, also those that are not link-local: of AWS and Google over IPv6, of
// Alibaba, Azure and Oracle. The address must be plain, see [Plain].
func IsMetadata(addr netip.Addr) bool {
	switch addr.String() {
	case "169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192":
		return true
	default:
		return false
	}
}

// Plain drops the zone and takes the IPv4 address out of the IPv6 forms that lead to it: mapped, compatible, NAT64 and
// 6to4.
func Plain(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case netip.PrefixFrom(nat64, 96).Contains(addr), compatible(b):
		return netip.AddrFrom4([4]byte(b[12:]))
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6]))
	default:
		return addr
	}
}

var nat64 = netip.AddrFrom16([16]byte{0x00, 0x64, 0xff, 0x9b})

// compatible tells an address of the form ::a.b.c.d from :: and ::1, which are addresses of their own.
func compatible(b [16]byte) bool {
	return [12]byte(b[:12]) == [12]byte{} && [3]byte(b[12:15]) != [3]byte{}
}

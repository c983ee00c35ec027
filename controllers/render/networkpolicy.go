// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	namespaceNameLabel = "kubernetes.io/metadata.name"
	dnsNamespace       = "kube-system"
	dnsPort            = 53
)

// notPublic4 and notPublic6 are what the rule for public addresses leaves out: private, loopback, link-local (with the
// metadata services of clouds), carrier-grade and otherwise special ranges.
var (
	notPublic4 = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
		"198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	}
	notPublic6 = []string{"::/127", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8"}
)

// networkPolicy lets the pods of the cluster reach the bot's own ports, and lets the bot reach DNS, the API server, the
// in-cluster hosts that its config names, and public addresses on the configured ports.
func networkPolicy(in Input, ports []servedPort) *networkingv1.NetworkPolicy {
	names := append(slices.Clone(ports), servedPort{name: MetricsPortName, number: MetricsPort})
	ingress := networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
	}
	for _, p := range names {
		ingress.Ports = append(ingress.Ports, tcp(p.number))
	}
	targets := findTargets(in.Config, in.Catalog, in.Options.Tracing.Endpoint)
	egress := []networkingv1.NetworkPolicyEgressRule{dnsRule(in.Options.DNS)}
	egress = append(egress, apiServerRules(in.Options.APIServers)...)
	egress = append(egress, namespaceRules(targets.namespaces)...)
	if net := in.Instance.Spec.Network; net != nil && len(net.Egress) > 0 {
		for i := range net.Egress {
			egress = append(egress, *net.Egress[i].DeepCopy())
		}
	} else {
		egress = append(egress, publicRule(targets.ports))
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: objectMeta(in.Instance, ChildName(in.Instance.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selectorLabels(in.Instance.Name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{ingress},
			Egress:      egress,
		},
	}
}

func tcp(port int32) networkingv1.NetworkPolicyPort { return portOf(corev1.ProtocolTCP, port) }

func portOf(protocol corev1.Protocol, port int32) networkingv1.NetworkPolicyPort {
	number := intstr.FromInt32(port)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &number}
}

func inNamespace(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{namespaceNameLabel: name},
	}}
}

func dnsRule(extra []netip.Prefix) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{
		To:    []networkingv1.NetworkPolicyPeer{inNamespace(dnsNamespace)},
		Ports: []networkingv1.NetworkPolicyPort{portOf(corev1.ProtocolUDP, dnsPort), tcp(dnsPort)},
	}
	for _, p := range extra {
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: p.Masked().String()}})
	}
	return rule
}

// apiServerRules allows each address on its port. The order of the input does not matter.
func apiServerRules(servers []netip.AddrPort) []networkingv1.NetworkPolicyEgressRule {
	sorted := slices.Clone(servers)
	slices.SortFunc(sorted, func(a, b netip.AddrPort) int { return a.Compare(b) })
	var rules []networkingv1.NetworkPolicyEgressRule
	for _, s := range slices.Compact(sorted) {
		addr := s.Addr().Unmap()
		block := netip.PrefixFrom(addr, addr.BitLen()).String()
		rules = append(rules, networkingv1.NetworkPolicyEgressRule{
			To:    []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: block}}},
			Ports: []networkingv1.NetworkPolicyPort{tcp(int32(s.Port()))},
		})
	}
	return rules
}

// namespaceRules allows TCP to the pods of each namespace. The port is left open because policies see the port of the
// pod, which need not be the port of the Service that the config names.
func namespaceRules(namespaces []string) []networkingv1.NetworkPolicyEgressRule {
	var rules []networkingv1.NetworkPolicyEgressRule
	for _, ns := range namespaces {
		protocol := corev1.ProtocolTCP
		rules = append(rules, networkingv1.NetworkPolicyEgressRule{
			To:    []networkingv1.NetworkPolicyPeer{inNamespace(ns)},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &protocol}},
		})
	}
	return rules
}

func publicRule(ports []int32) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{
		{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: slices.Clone(notPublic4)}},
		{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: slices.Clone(notPublic6)}},
	}}
	for _, p := range ports {
		rule.Ports = append(rule.Ports, tcp(p))
	}
	return rule
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Chains of the cluster's own. They also tell that the firewall was changed
// for it, so they are made first and removed last.
const (
	chainForward     = "AALIS-FORWARD"
	chainOutput      = "AALIS-OUTPUT"
	chainPostrouting = "AALIS-POSTROUTING"
)

// ownChains are all of them.
var ownChains = []string{chainForward, chainOutput, chainPostrouting}

// foreignPrefixes start the names of chains that others make on the cluster's
// behalf: kube-proxy and kube-router, and the CNI plugin for host ports.
var foreignPrefixes = []string{"KUBE-", "CNI-"}

// families are the two sets of iptables tools.
var families = []string{"iptables", "ip6tables"}

// EnsureFirewall lets pods reach the world under the machine's address and
// forwards to and from them where the machine's policy would not. An address of
// a Service that nothing serves is refused here: where kube-proxy has no rule for
// it, as while the API server is away, it would go out to the machine's gateway.
func EnsureFirewall(ctx context.Context, ns Namespace, clusterCIDR, serviceCIDR string) error {
	rules := fmt.Sprintf(`*filter
:%[1]s - [0:0]
:%[4]s - [0:0]
-A %[4]s -d %[5]s -j REJECT
-A %[1]s -d %[5]s -j REJECT
-A %[1]s -s %[3]s -j ACCEPT
-A %[1]s -d %[3]s -j ACCEPT
COMMIT
*nat
:%[2]s - [0:0]
-A %[2]s -s %[3]s ! -d %[3]s -j MASQUERADE
COMMIT
`, chainForward, chainPostrouting, clusterCIDR, chainOutput, serviceCIDR)
	// Naming a chain flushes it, so that a second run changes nothing.
	if _, err := ns.run(ctx, rules, "iptables-restore", "-w", "--noflush"); err != nil {
		return err
	}
	for _, jump := range [][3]string{{"filter", "FORWARD", chainForward}, {"filter", "OUTPUT", chainOutput}, {"nat", "POSTROUTING", chainPostrouting}} {
		table, from, to := jump[0], jump[1], jump[2]
		if _, err := ns.run(ctx, "", "iptables", "-w", "-t", table, "-C", from, "-j", to); err == nil {
			continue
		}
		if _, err := ns.run(ctx, "", "iptables", "-w", "-t", table, "-A", from, "-j", to); err != nil {
			return err
		}
	}
	return nil
}

// Chains returns the chains of the machine's firewall that have one of the
// prefixes used for clusters, as FAMILY/TABLE/CHAIN.
func Chains(ctx context.Context) ([]string, error) {
	var out []string
	for _, family := range families {
		dump, err := run(ctx, "", family+"-save")
		if err != nil {
			return nil, err
		}
		for _, c := range parseChains(dump) {
			if isClusterChain(c.name) {
				out = append(out, family+"/"+c.table+"/"+c.name)
			}
		}
	}
	return out, nil
}

// OwnChains returns those of the chains that only this cluster makes.
func OwnChains(chains []string) []string {
	return slices.DeleteFunc(slices.Clone(chains), func(c string) bool {
		return !slices.Contains(ownChains, c[strings.LastIndex(c, "/")+1:])
	})
}

// CleanFirewall removes the cluster's chains and the rules that lead to them,
// except the chains in keep, which were there before the cluster.
func CleanFirewall(ctx context.Context, keep []string) error {
	for _, family := range families {
		dump, err := run(ctx, "", family+"-save")
		if err != nil {
			return err
		}
		script := cleanScript(dump, func(table, chain string) bool {
			return isClusterChain(chain) && !slices.Contains(keep, family+"/"+table+"/"+chain)
		})
		if script == "" {
			continue
		}
		if _, err := run(ctx, script, family+"-restore", "-w", "--noflush"); err != nil {
			return fmt.Errorf("removing the cluster's chains: %w", err)
		}
	}
	return nil
}

func isClusterChain(name string) bool {
	return slices.Contains(ownChains, name) ||
		slices.ContainsFunc(foreignPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

type chain struct{ table, name string }

// parseChains lists the chains of an iptables-save dump in its order.
func parseChains(dump string) []chain {
	var out []chain
	table := ""
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		}
		if rest, ok := strings.CutPrefix(line, ":"); ok {
			name, _, _ := strings.Cut(rest, " ")
			out = append(out, chain{table, name})
		}
	}
	return out
}

// cleanScript turns an iptables-save dump into the iptables-restore script that
// removes the chains that remove selects: the rules of other chains that jump
// to them are deleted one by one, the chains themselves are flushed and deleted.
func cleanScript(dump string, remove func(table, chain string) bool) string {
	doomed := map[chain]bool{}
	for _, c := range parseChains(dump) {
		if remove(c.table, c.name) {
			doomed[c] = true
		}
	}
	var out strings.Builder
	table := ""
	var flush, drop, jumps []string
	end := func() {
		if len(flush)+len(jumps) > 0 {
			out.WriteString("*" + table + "\n")
			for _, line := range slices.Concat(flush, jumps, drop) {
				out.WriteString(line + "\n")
			}
			out.WriteString("COMMIT\n")
		}
		flush, drop, jumps = nil, nil, nil
	}
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case line == "COMMIT":
			end()
		case strings.HasPrefix(line, ":"):
			name, _, _ := strings.Cut(line[1:], " ")
			if doomed[chain{table, name}] {
				flush = append(flush, ":"+name+" - [0:0]") // creates or flushes
				drop = append(drop, "-X "+name)
			}
		case strings.HasPrefix(line, "-A "):
			from, to := ruleEnds(line)
			if !doomed[chain{table, from}] && doomed[chain{table, to}] {
				jumps = append(jumps, "-D "+strings.TrimPrefix(line, "-A "))
			}
		}
	}
	return out.String()
}

// ruleEnds returns the chain that a rule is in and the one that it leads to.
// Comments are quoted, and what is in quotes is no option.
func ruleEnds(rule string) (from, to string) {
	words := splitQuoted(rule)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "-A":
			from = words[i+1]
		case "-j", "-g":
			to = words[i+1]
		case "--comment":
			i++
		}
	}
	return from, to
}

// splitQuoted splits at blanks outside double quotes; a backslash takes the
// next character as it is. Quotes are dropped.
func splitQuoted(s string) []string {
	var words []string
	var word strings.Builder
	inWord, quoted, escaped := false, false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			inWord, escaped = true, true
		case r == '"':
			inWord, quoted = true, !quoted
		case r == ' ' && !quoted:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

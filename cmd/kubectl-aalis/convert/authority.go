// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// authorityKeys are the top-level keys that become an AuthorityPolicy.
var authorityKeys = []string{"owners", "deniedCapabilities", "authorityOverrides", "confirmOverrides", "restrictedPolicy", "network"}

// authority makes one policy of who may do what.
func (c *converter) authority() {
	var spec v1alpha1.AuthorityPolicySpec
	c.owners(&spec)
	for i, item := range c.list("deniedCapabilities") {
		text, ok := item.(string)
		if path := fmt.Sprintf("deniedCapabilities[%d]", i); !ok || strings.TrimSpace(text) == "" || slices.Contains(spec.DeniedCapabilities, text) {
			c.note(path, "must be a capability that is not there yet, as tool:exec*; left out")
			continue
		}
		spec.DeniedCapabilities = append(spec.DeniedCapabilities, text)
	}
	c.overrides(&spec)
	c.preApproved(&spec)
	c.network(&spec)
	if reflect.DeepEqual(spec, v1alpha1.AuthorityPolicySpec{}) {
		return
	}
	spec.Selector = c.selector()
	c.out.AuthorityPolicies = append(c.out.AuthorityPolicies, v1alpha1.AuthorityPolicy{
		TypeMeta: typeMeta(v1alpha1.KindAuthorityPolicy), ObjectMeta: c.meta(c.bot.Name), Spec: spec,
	})
}

// list reads a list of the config, and listAt one that stands at a path of it. Either may be absent.
func (c *converter) list(key string) []any { return c.listAt(key, c.config[key]) }

func (c *converter) listAt(path string, value any) []any {
	items, ok := value.([]any)
	if !ok && value != nil {
		c.note(path, "must be a list; left out")
	}
	return items
}

func (c *converter) mapOf(key string) map[string]any {
	entries, ok := c.config[key].(map[string]any)
	if !ok && c.config[key] != nil {
		c.note(key, "must be a map from capability to value; left out")
	}
	return entries
}

func (c *converter) owners(spec *v1alpha1.AuthorityPolicySpec) {
	for i, item := range c.list("owners") {
		path := fmt.Sprintf("owners[%d]", i)
		fields, ok := item.(map[string]any)
		id := v1alpha1.Identity{Platform: scalar(fields["platform"]), UserID: scalar(fields["userId"])}
		switch {
		case !ok || id.Platform == "" || id.UserID == "":
			c.note(path, "must have platform and userId; left out")
			continue
		case slices.Contains(spec.Owners, id):
			c.note(path, "is there twice; left out")
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if key != "platform" && key != "userId" {
				c.note(path+"."+key, "an owner has no such field; left out")
			}
		}
		spec.Owners = append(spec.Owners, id)
	}
}

// scalar is a text; an account number may have been written as a number.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func (c *converter) overrides(spec *v1alpha1.AuthorityPolicySpec) {
	levels := c.mapOf("authorityOverrides")
	for _, capability := range slices.Sorted(maps.Keys(levels)) {
		level, err := strconv.ParseInt(scalar(levels[capability]), 10, 32)
		const most = 1_000_000 // of the API
		if err != nil || math.Abs(float64(level)) > most {
			c.note("authorityOverrides."+capability, "must be a whole number of at most %d; left out", most)
			continue
		}
		n := int32(level)
		spec.AuthorityOverrides = append(spec.AuthorityOverrides, v1alpha1.AuthorityOverride{Capability: capability, MinLevel: &n})
	}
	rules := c.mapOf("confirmOverrides")
	for _, capability := range slices.Sorted(maps.Keys(rules)) {
		rule, ok := confirmRule(rules[capability])
		if !ok {
			c.note("confirmOverrides."+capability, "must be session, always or off; left out")
			continue
		}
		spec.ConfirmOverrides = append(spec.ConfirmOverrides, v1alpha1.ConfirmOverride{Capability: capability, Confirm: rule})
	}
}

// confirmRule reads a rule. YAML readers of Kubernetes take an unquoted off for false.
func confirmRule(value any) (v1alpha1.ConfirmRule, bool) {
	switch value {
	case "session":
		return v1alpha1.ConfirmSession, true
	case "always":
		return v1alpha1.ConfirmAlways, true
	case "off", false:
		return v1alpha1.ConfirmNever, true
	}
	return "", false
}

// preApproved reads what needs no confirmation.
func (c *converter) preApproved(spec *v1alpha1.AuthorityPolicySpec) {
	fields := c.mapOf("restrictedPolicy")
	p := &v1alpha1.PreApproval{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		path := "restrictedPolicy." + key
		switch key {
		case "allow":
			p.Allow = c.texts(path, fields[key])
		case "duration":
			n, err := strconv.ParseInt(scalar(fields[key]), 10, 32)
			const most = 31_536_000 // of the API
			if err != nil || n < 0 || n > most {
				c.note(path, "must be a whole number of seconds of at most %d; left out", most)
			} else if seconds := int32(n); n > 0 {
				p.DurationSeconds = &seconds
			}
		default:
			c.note(path, "there is no such field; left out")
		}
	}
	if len(p.Allow) > 0 {
		spec.PreApproved = p
	}
}

// texts reads a list of texts, each once.
func (c *converter) texts(path string, value any) (out []string) {
	for i, item := range c.listAt(path, value) {
		text, ok := item.(string)
		if !ok || strings.TrimSpace(text) == "" || slices.Contains(out, text) {
			c.note(fmt.Sprintf("%s[%d]", path, i), "must be a text that is not there yet; left out")
			continue
		}
		out = append(out, text)
	}
	return out
}

// network reads which addresses a conversation may have the bot reach.
func (c *converter) network(spec *v1alpha1.AuthorityPolicySpec) {
	fields := c.mapOf("network")
	n := &v1alpha1.NetworkRules{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		path := "network." + key
		switch key {
		case "blockPrivate":
			switch fields[key] {
			case false:
				n.PrivateAddresses = v1alpha1.AllowAddresses
			case true:
			default:
				c.note(path, "must be true or false; left out")
			}
		case "denyCidrs":
			for _, text := range c.texts(path, fields[key]) {
				if _, err := netip.ParsePrefix(text); err != nil {
					c.note(path, "must have networks such as 10.96.0.0/12, got %q; left out", text)
					continue
				}
				n.DenyCIDRs = append(n.DenyCIDRs, text)
			}
		case "allowedPorts":
			n.AllowedPorts = c.ports(path, fields[key])
		default:
			c.note(path, "there is no such field; left out")
		}
	}
	if !reflect.DeepEqual(*n, v1alpha1.NetworkRules{}) {
		spec.Network = n
	}
}

func (c *converter) ports(path string, value any) (out []int32) {
	for i, item := range c.listAt(path, value) {
		port, err := strconv.ParseUint(scalar(item), 10, 16)
		if err != nil || port == 0 || slices.Contains(out, int32(port)) {
			c.note(fmt.Sprintf("%s[%d]", path, i), "must be a port that is not there yet; left out")
			continue
		}
		out = append(out, int32(port))
	}
	return out
}

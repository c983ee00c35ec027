// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// authorityKeys are the top-level keys that become an AuthorityPolicy.
var authorityKeys = []string{"owners", "deniedCapabilities", "authorityOverrides", "confirmOverrides"}

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
	if len(spec.Owners)+len(spec.DeniedCapabilities)+len(spec.AuthorityOverrides)+len(spec.ConfirmOverrides) == 0 {
		return
	}
	spec.Selector = c.selector()
	c.out.AuthorityPolicies = append(c.out.AuthorityPolicies, v1alpha1.AuthorityPolicy{
		TypeMeta: typeMeta(v1alpha1.KindAuthorityPolicy), ObjectMeta: c.meta(c.bot.Name), Spec: spec,
	})
}

func (c *converter) list(key string) []any {
	items, ok := c.config[key].([]any)
	if !ok && c.config[key] != nil {
		c.note(key, "must be a list; left out")
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
		return v1alpha1.ConfirmOff, true
	}
	return "", false
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// tenantPolicies takes the policies of the bot's namespace, sorted by name, and fills in what they give to a bot that does not
// say itself. Of several that give the same thing the first by name counts. One that is being deleted no longer counts.
func (c *composer) tenantPolicies() {
	for _, p := range c.in.TenantPolicies {
		if namespaceOf(p.Namespace) == c.namespace && p.DeletionTimestamp == nil {
			c.tenant = append(c.tenant, p)
			c.use(v1alpha1.KindTenantPolicy, p.Name, p.Generation)
		}
	}
	slices.SortFunc(c.tenant, func(a, b v1alpha1.TenantPolicy) int { return strings.Compare(a.Name, b.Name) })
	spec := c.instance.Spec
	for _, p := range c.tenant {
		d := p.Spec.Defaults
		if d == nil {
			continue
		}
		if spec.Resources == nil {
			spec.Resources = d.Resources.DeepCopy()
		}
		if spec.Network == nil {
			spec.Network = d.Network.DeepCopy()
		}
	}
	effective := *c.instance // what is declared is the caller's
	effective.Spec = spec
	c.effective = &effective
}

// checkTenant refuses what a policy does not allow. Several policies must all allow it.
func (c *composer) checkTenant() {
	for _, p := range c.tenant {
		c.checkTenantInstance(p)
		for i := range c.entries {
			c.checkTenantEntry(p, &c.entries[i])
		}
	}
}

// notAllowed says what a policy does not allow, and what it does.
func (c *composer) notAllowed(p v1alpha1.TenantPolicy, object, path, what string, allowed []string) {
	c.at(SeverityError, v1alpha1.ReasonNotAllowed, object, path, "%s is not allowed by TenantPolicy %s, which allows %s",
		what, p.Name, strings.Join(allowed, ", "))
}

func (c *composer) checkTenantInstance(p v1alpha1.TenantPolicy) {
	spec := c.instance.Spec
	if p.Spec.AllowedImages != nil && spec.Image != "" && !matchesAny(p.Spec.AllowedImages, spec.Image) {
		c.notAllowed(p, c.object, "spec.image", "image "+spec.Image, p.Spec.AllowedImages)
	}
	if p.Spec.CustomEgress == v1alpha1.DenyAddresses && spec.Network != nil && len(spec.Network.Egress) > 0 {
		c.notAllowed(p, c.object, "spec.network.egress", "an egress rule of its own", []string{"none"})
	}
	if p.Spec.Unsafe == v1alpha1.DenyAddresses && spec.Unsafe != nil && *spec.Unsafe != (v1alpha1.UnsafeSettings{}) {
		c.notAllowed(p, c.object, "spec.unsafe", "taking protection away", []string{"nothing of it"})
	}
	if s := spec.PodTemplate; s != nil {
		for _, secret := range s.ImagePullSecrets {
			c.checkTenantSecret(p, c.object, "spec.podTemplate.imagePullSecrets", secret.Name)
		}
	}
	if s := spec.Storage; s != nil && s.Redis != nil && s.Redis.PasswordSecretRef != nil {
		c.checkTenantSecret(p, c.object, "spec.storage.redis.passwordSecretRef.name", s.Redis.PasswordSecretRef.Name)
	}
}

func (c *composer) checkTenantEntry(p v1alpha1.TenantPolicy, e *entry) {
	if !e.listed || e.disabled || e.absent {
		return
	}
	if p.Spec.AllowedModules != nil && !e.module.OnByDefault && !allowsModule(p.Spec.AllowedModules, e.module.Name) {
		c.notAllowed(p, e.object, e.path+".module", "module "+e.module.Name, p.Spec.AllowedModules)
	}
	for _, s := range e.secrets {
		c.checkTenantSecret(p, e.object, e.path+".secrets["+s.Path+"].secretKeyRef.name", s.SecretKeyRef.Name)
	}
}

func (c *composer) checkTenantSecret(p v1alpha1.TenantPolicy, object, path, name string) {
	if p.Spec.AllowedSecretNames != nil && !matchesAny(p.Spec.AllowedSecretNames, name) {
		c.notAllowed(p, object, path, "Secret "+name, p.Spec.AllowedSecretNames)
	}
}

func allowsModule(patterns []string, name string) bool {
	short := catalog.ShortName(name)
	return matchesAny(patterns, name) || (short != "" && matchesAny(patterns, short))
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return policy.Pattern(p).Match(text) })
}

// Refused is what the AgentInstance itself asks for although no TenantPolicy allows it: images, network, protection. Its
// children must not be made from it. It is nil if there is nothing of the kind.
func (r Result) Refused() error {
	var errs []error
	for _, p := range r.Problems {
		if p.Reason == v1alpha1.ReasonNotAllowed && strings.HasPrefix(p.Object, v1alpha1.KindAgentInstance+" ") {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

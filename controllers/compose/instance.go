// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Bounds of an AgentInstance, the same that admission checks.
const (
	maxInstanceName  = 40
	maxPlugins       = 64
	maxDrainSeconds  = 600
	maxPersonas      = 16
	maxPersonaPrompt = 65536
)

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkInstance checks what admission checks in a cluster.
func (c *composer) checkInstance() {
	name, spec := c.instance.Name, c.instance.Spec
	switch {
	case len(name) > maxInstanceName:
		c.bad(v1alpha1.ReasonNameTooLong, "metadata.name", "may not be longer than %d characters, got %d", maxInstanceName, len(name))
	case !dnsLabel.MatchString(name):
		c.bad(v1alpha1.ReasonInvalidSpec, "metadata.name", "must be a DNS label: lower case letters, digits and '-', got %q", name)
	}
	if n := len(spec.Plugins); n > maxPlugins {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.plugins", "may not have more than %d entries, got %d", maxPlugins, n)
	}
	if n := len(spec.Personas); n > maxPersonas {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.personas", "may not have more than %d entries, got %d", maxPersonas, n)
	}
	c.checkPodTemplate(spec.PodTemplate)
	c.oneOf("spec.logLevel", spec.LogLevel, "debug", "info", "warn", "error")
	c.oneOf("spec.language", spec.Language, "en", "zh-CN")
	c.oneOf("spec.state", string(spec.State), string(v1alpha1.DesiredStateRunning), string(v1alpha1.DesiredStateSuspended))
	if d := spec.DrainTimeoutSeconds; d != nil && (*d < 0 || *d > maxDrainSeconds) {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.drainTimeoutSeconds", "must be between 0 and %d, got %d", maxDrainSeconds, *d)
	}
}

// oneOf checks an enumeration of the instance; empty stands for the default.
func (c *composer) oneOf(path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.bad(v1alpha1.ReasonInvalidSpec, path, "must be one of %s, got %q", list(allowed), value)
	}
}

// checkPodTemplate checks that what the pod gets is none of the operator's own.
func (c *composer) checkPodTemplate(s *v1alpha1.PodSettings) {
	if s == nil {
		return
	}
	ours := func(key string) bool {
		domain, _, ok := strings.Cut(key, "/")
		return ok && (domain == v1alpha1.GroupName || strings.HasSuffix(domain, "."+v1alpha1.GroupName))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if ours(key) || strings.HasPrefix(key, "app.kubernetes.io/") {
			c.bad(v1alpha1.ReasonInvalidSpec, "spec.podTemplate.labels", "may not have keys of aalis.dev and app.kubernetes.io, which are the operator's own, got %q", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		if ours(key) {
			c.bad(v1alpha1.ReasonInvalidSpec, "spec.podTemplate.annotations", "may not have keys of aalis.dev, which are the operator's own, got %q", key)
		}
	}
	for i, r := range s.ImagePullSecrets {
		if r.Name == "" {
			c.bad(v1alpha1.ReasonInvalidSpec, "spec.podTemplate.imagePullSecrets", "must have a name in each entry, entry %d has none", i+1)
		}
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// memoryService is the service of memory backends, which spec.storage decides.
const memoryService = "memory"

// selects reports whether an object that selects bots, and is not being deleted, selects this one.
func (c *composer) selects(meta metav1.ObjectMeta, selector *metav1.LabelSelector) (bool, error) {
	if namespaceOf(meta.Namespace) != c.namespace || meta.DeletionTimestamp != nil {
		return false, nil
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("must be a label selector: %w", err)
	}
	return s.Matches(labels.Set(c.instance.Labels)), nil
}

// composePreferences takes, for each service, the preference of the highest priority that selects the bot, the first by
// name among equals.
func (c *composer) composePreferences() {
	var selected []v1alpha1.ServicePreference
	for _, p := range c.in.ServicePreferences {
		ok, err := c.selects(p.ObjectMeta, p.Spec.Selector)
		switch {
		case err != nil:
			c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, "ServicePreference "+p.Name, "spec.selector", "%v", err)
		case ok:
			selected = append(selected, p)
			c.use("ServicePreference", p.Name, p.Generation)
		}
	}
	slices.SortStableFunc(selected, func(a, b v1alpha1.ServicePreference) int {
		if d := int(priorityOf(b)) - int(priorityOf(a)); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	decided := map[string]string{}
	for i, p := range selected {
		if slices.ContainsFunc(selected[:i], func(q v1alpha1.ServicePreference) bool { return q.Name == p.Name }) {
			c.twice("ServicePreference", p.Name)
			continue
		}
		object := "ServicePreference " + p.Name
		if by, done := decided[p.Spec.Service]; done {
			c.at(SeverityInfo, v1alpha1.ReasonUnused, object, "", "ServicePreference %s goes before it for the service %s of this bot", by, p.Spec.Service)
			continue
		}
		if !c.knownService(object, p.Spec.Service) {
			continue
		}
		decided[p.Spec.Service] = p.Name
		if prefer := c.preferred(object, p); len(prefer) > 0 {
			c.config.Preferences = append(c.config.Preferences, kernelconfig.Preference{
				Service: p.Spec.Service, Prefer: prefer, FallbackOn: c.fallbackOn(object, p),
			})
		}
	}
	slices.SortFunc(c.config.Preferences, func(a, b kernelconfig.Preference) int { return strings.Compare(a.Service, b.Service) })
}

// fallbackOn gives the causes of a preference, sorted.
func (c *composer) fallbackOn(object string, p v1alpha1.ServicePreference) []string {
	if len(p.Spec.FallbackOn) == 0 {
		return nil
	}
	if p.Spec.Service != llmService {
		c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, object, "spec.fallbackOn",
			"may be given for the service llm only: calls of %s are not made again elsewhere", p.Spec.Service)
		return nil
	}
	out := make([]string, 0, len(p.Spec.FallbackOn))
	for _, cause := range p.Spec.FallbackOn {
		out = append(out, string(cause))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func priorityOf(p v1alpha1.ServicePreference) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// knownService reports whether some module of the catalog provides or uses the service and preferences may decide it.
func (c *composer) knownService(object, service string) bool {
	if service == memoryService {
		c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, object, "spec.service", "the service memory is decided by spec.storage of the bot, not by preference")
		return false
	}
	var known []string
	for _, m := range c.in.Catalog.Modules {
		known = append(append(append(known, m.Provides...), m.Required...), m.Optional...)
	}
	if slices.Contains(known, service) {
		return true
	}
	slices.Sort(known)
	c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, object, "spec.service", "%s",
		unknown("the runtime image has no service", service, slices.Compact(known)))
	return false
}

// preferred translates the list of a preference into entry ids. A plugin that this bot does not have is passed over: one
// list serves bots with different plugins.
func (c *composer) preferred(object string, p v1alpha1.ServicePreference) []string {
	var out []string
	complaints := false
	for i, ref := range p.Spec.Prefer {
		path := fmt.Sprintf("spec.prefer[%d]", i)
		if c.byName(ref.Plugin) == nil {
			continue
		}
		e, message := c.provider(ref.Plugin, p.Spec.Service)
		switch {
		case message != "":
			complaints = true
			c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, object, path+".plugin", "%s", message)
			continue
		case e == nil:
			complaints = true
			continue
		case p.Spec.Service == llmService && ref.ID == "":
			complaints = true
			c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, object, path+".id", "must be given for the service llm, where one plugin provides many models")
			continue
		}
		id := e.id
		if ref.ID != "" {
			id += "/" + ref.ID
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if len(out) == 0 && !complaints {
		c.at(SeverityInfo, v1alpha1.ReasonUnused, object, "spec.prefer", "none of the preferred plugins is part of %s", c.object)
	}
	return out
}

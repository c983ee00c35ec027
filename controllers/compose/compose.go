// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// The defaults of fields that admission fills in a cluster and nobody fills elsewhere.
const (
	defaultLogLevel     = "info"
	defaultLanguage     = "en"
	defaultDrainSeconds = 60
	defaultNamespace    = "default"
)

// Compose makes the kernel config of one bot.
//
// A Plugin that does not exist, or is being deleted, is left out with a warning: an absent plugin never keeps the rest of
// a bot from changing. A Persona that is being deleted stays. A module, persona, model or config key that does not exist,
// or a value that does not fit, is an error.
func Compose(in Input) Result {
	if in.Instance == nil {
		return Result{Problems: []Problem{{
			Severity: SeverityError, Reason: v1alpha1.ReasonInvalidSpec, Object: "AgentInstance", Message: "must be given",
		}}}
	}
	c := &composer{in: in, instance: in.Instance, object: "AgentInstance " + in.Instance.Name, namespace: namespaceOf(in.Instance.Namespace)}
	c.checkInstance()
	c.tenantPolicies()
	c.checkPins()
	c.config = kernelconfig.Config{
		Format:              kernelconfig.Format,
		Name:                in.Instance.Name,
		Namespace:           in.Instance.Namespace,
		LogLevel:            cmp.Or(in.Instance.Spec.LogLevel, defaultLogLevel),
		Language:            cmp.Or(in.Instance.Spec.Language, defaultLanguage),
		DrainTimeoutSeconds: defaultDrainSeconds,
	}
	if d := in.Instance.Spec.DrainTimeoutSeconds; d != nil {
		c.config.DrainTimeoutSeconds = *d
	}
	c.composePlugins()
	c.composePersonas()
	c.composeModel()
	c.composeBudgets()
	c.composePreferences()
	c.composeAuthority()
	c.composeUnsafe()
	c.checkTenant()
	return c.finish()
}

type composer struct {
	problems
	in        Input
	instance  *v1alpha1.AgentInstance
	object    string // the instance, as problems name it
	namespace string
	config    kernelconfig.Config
	entries   []entry
	tenant    []v1alpha1.TenantPolicy // of the namespace, sorted by name
	effective *v1alpha1.AgentInstance // the instance with what they give
	refs      []Reference
	pins      []PinState
}

// finish puts the config into its final form and packs it.
func (c *composer) finish() Result {
	slices.SortFunc(c.config.Plugins, func(a, b kernelconfig.Plugin) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(c.refs, func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	r := Result{Config: c.config, Instance: c.effective, Secrets: c.config.MountedSecrets(), References: slices.Compact(c.refs), Pins: c.pinStates()}
	r.Problems = c.sorted()
	if !r.Deployable() {
		return r
	}
	delivery, err := kernelconfig.Pack(c.config, 0)
	if err == nil {
		r.Delivery = delivery
		return r
	}
	var large *kernelconfig.TooLargeError
	reason := v1alpha1.ReasonInvalidConfig
	if errors.As(err, &large) {
		reason = v1alpha1.ReasonConfigTooLarge
	}
	c.at(SeverityError, reason, c.object, "", "%v", err)
	r.Problems = c.sorted()
	return r
}

// bad reports an error in a field of the instance.
func (c *composer) bad(reason, path, format string, args ...any) {
	c.at(SeverityError, reason, c.object, path, format, args...)
}

func (c *composer) use(kind, name string, generation int64) { c.useRevision(kind, name, generation, 0) }

func (c *composer) useRevision(kind, name string, generation, revision int64) {
	c.refs = append(c.refs, Reference{Kind: kind, Name: name, Generation: generation, Revision: revision})
}

func namespaceOf(ns string) string { return cmp.Or(ns, defaultNamespace) }

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernelconfig

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format names the layout of Config. A kernel refuses any other.
const Format = "aalis.dev/kernel/v1"

// revisionLength is the number of hexadecimal digits of a revision: 80 bits, so that two revisions of one bot
// never meet while names and labels stay short.
const revisionLength = 20

// Config is everything that one kernel needs to run one bot. Two equal Configs have the same bytes and so the
// same revision. Lists are sorted by their key.
type Config struct {
	// Format is always the constant Format.
	Format string `json:"format"`
	// Name of the bot: the name of its AgentInstance.
	Name string `json:"name"`
	// Namespace of the bot; empty outside a cluster.
	Namespace string `json:"namespace,omitempty"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `json:"logLevel,omitempty"`
	// Language of the texts that the bot itself writes: en or zh-CN.
	Language string `json:"language,omitempty"`
	// DrainTimeoutSeconds bounds how long running turns may go on before a plugin is torn down; 0 does not wait.
	DrainTimeoutSeconds int32 `json:"drainTimeoutSeconds"`
	// Plugins of the kernel, sorted by ID. What is not listed does not run.
	Plugins []Plugin `json:"plugins"`
	// Preferences order the providers of a service; sorted by Service.
	Preferences []Preference `json:"preferences,omitempty"`
	// Model is the default model, when the declaration names one.
	Model *Model `json:"model,omitempty"`
	// Budgets limit what the bot spends; sorted by Name.
	Budgets []Budget `json:"budgets,omitempty"`
	// Persona is the card that the bot speaks as; nil means the built-in one.
	Persona *Persona `json:"persona,omitempty"`
	// Personas are further cards that a conversation may choose; sorted by Source.
	Personas []Persona `json:"personas,omitempty"`
	// Authority says who may do what; nil means that nobody is more than a guest.
	Authority *Authority `json:"authority,omitempty"`
}

// Plugin is one plugin instance.
type Plugin struct {
	// ID of the instance: the module's full name, followed by a colon and the Plugin's name for a reusable module.
	ID string `json:"id"`
	// Module is the full name of the shipped module.
	Module string `json:"module"`
	// Disabled keeps the plugin registered and off.
	Disabled bool `json:"disabled,omitempty"`
	// Config of the module without defaults and without secret values.
	Config map[string]any `json:"config,omitempty"`
	// Secrets fill fields of the config from mounted Secret keys; sorted by Path.
	Secrets []Secret `json:"secrets,omitempty"`
}

// Secret fills one config field from one key of one mounted Secret.
type Secret struct {
	// Path of the config field, with dots into nested objects.
	Path string `json:"path"`
	// Name of the Secret.
	Name string `json:"name"`
	// Key in the Secret.
	Key string `json:"key"`
}

// Service is the name under which the kernel's host provides a Secret key once its file is there. A plugin that
// needs the key requires that service, so that a key that comes or goes is an ordinary service-up or service-down.
func (s Secret) Service() string { return "secret:" + s.Name + "/" + s.Key }

// Preference orders the providers of one service.
type Preference struct {
	// Service that is ordered.
	Service string `json:"service"`
	// Prefer lists provider entries, best first: an instance id, or an instance id, a slash and a model id.
	Prefer []string `json:"prefer"`
	// FallbackOn names the causes for which a failed call goes to the next entry: Unavailable, RateLimited; sorted.
	FallbackOn []string `json:"fallbackOn,omitempty"`
}

// Model names a chat model by the instance that provides it.
type Model struct {
	// Provider is the plugin instance id.
	Provider string `json:"provider"`
	// ID of the model at the provider.
	ID string `json:"id"`
}

// Entry is the id of the model's entry in the service llm.
func (m Model) Entry() string { return m.Provider + "/" + m.ID }

// Budget limits what is spent in a window of time.
type Budget struct {
	// Name of the budget.
	Name string `json:"name"`
	// Scope is Bot, User or Session; empty is Bot.
	Scope string `json:"scope,omitempty"`
	// Per is Hour, Day or Month.
	Per string `json:"per"`
	// TimeZone is a name of the IANA database; empty is UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Tokens of the window; nil if the budget is in money.
	Tokens *int64 `json:"tokens,omitempty"`
	// Amount of money, as a decimal number, and its Currency.
	Amount   string `json:"amount,omitempty"`
	Currency string `json:"currency,omitempty"`
	// Steps before the end; sorted by Action.
	Steps []BudgetStep `json:"steps,omitempty"`
}

// BudgetStep is what happens once a part of a budget is spent.
type BudgetStep struct {
	// Action is Warn, SwitchModel or ReadOnlyTools.
	Action string `json:"action"`
	// AtPercent of the budget, from 1 to 100.
	AtPercent int32 `json:"atPercent"`
	// Model to answer with from then on, for SwitchModel.
	Model *Model `json:"model,omitempty"`
}

// Persona is a persona card.
type Persona struct {
	// Source is the name of the Persona object, which is also the persona label of metrics.
	Source string `json:"source"`
	// Name the bot goes by.
	Name string `json:"name"`
	// Description of the character.
	Description string `json:"description,omitempty"`
	// Traits of the character, in their declared order.
	Traits []string `json:"traits,omitempty"`
	// Prompt that defines the character.
	Prompt string `json:"prompt"`
	// NickNames are further names that people call the bot by.
	NickNames []string `json:"nickNames,omitempty"`
	// Greeting that clients may show before the first message.
	Greeting string `json:"greeting,omitempty"`
	// OutputFormat is the JSON object that each reply must be; nil is plain text.
	OutputFormat *OutputFormat `json:"outputFormat,omitempty"`
	// ClientSideJSONRendering hands the client the whole object instead of its reply field.
	ClientSideJSONRendering bool `json:"clientSideJsonRendering,omitempty"`
	// Skills are the only ones that the persona may use: nil is all, empty is none.
	Skills []string `json:"skills,omitzero"`
}

// OutputFormat is the JSON object that each reply of a persona must be.
type OutputFormat struct {
	// Fields in the order in which the model is shown them.
	Fields []OutputField `json:"fields"`
	// Prompt replaces the built-in words around the skeleton of the object.
	Prompt string `json:"prompt,omitempty"`
	// Retries of a reply that does not fit; nil is the kernel's default.
	Retries *int32 `json:"retries,omitempty"`
}

// OutputField is one field of the object.
type OutputField struct {
	// Name is the key in the object.
	Name string `json:"name"`
	// Description for the model.
	Description string `json:"description,omitempty"`
	// Type is string, number or boolean; empty is string.
	Type string `json:"type,omitempty"`
	// Reply marks the field that is sent; the last one that is marked counts.
	Reply bool `json:"reply,omitempty"`
}

// Authority is the merged policy of a bot.
type Authority struct {
	// Owners may do all that is not denied; sorted by platform, then user.
	Owners []Identity `json:"owners,omitempty"`
	// Levels of people; sorted by platform, then user.
	Levels []IdentityLevel `json:"levels,omitempty"`
	// DeniedCapabilities are patterns switched off for everybody; sorted.
	DeniedCapabilities []string `json:"deniedCapabilities,omitempty"`
	// AuthorityOverrides are minimum levels by capability.
	AuthorityOverrides map[string]int32 `json:"authorityOverrides,omitempty"`
	// ConfirmOverrides are session, always or off by capability.
	ConfirmOverrides map[string]string `json:"confirmOverrides,omitempty"`
	// PreApproved are the lists of what needs no confirmation, one of each policy that has one. An operation is approved
	// in advance only if every one of them allows it.
	PreApproved []PreApproval `json:"preApproved,omitempty"`
	// AutoConfirmUntil is until when owners are not asked for confirmation, in milliseconds since 1970: 0 is off and
	// AutoConfirmForever has no end.
	AutoConfirmUntil int64 `json:"autoConfirmUntil,omitempty"`
	// Network limits the addresses that a model or a chat user may have the bot reach; nil is the default of the guard.
	Network *NetworkRules `json:"network,omitempty"`
	// Lock names what chat may not lay over this: levels, autoConfirm; sorted.
	Lock []string `json:"lock,omitempty"`
	// Disabled switches the levels and the confirmations off, so that everybody may do what is not denied.
	Disabled bool `json:"disabled,omitempty"`
}

// AutoConfirmForever is the AutoConfirmUntil that has no end.
const AutoConfirmForever int64 = -1

// The values of Authority.Lock.
const (
	LockLevels      = "levels"
	LockAutoConfirm = "autoConfirm"
)

// PreApproval names what needs no confirmation.
type PreApproval struct {
	// Allow are patterns of capabilities; sorted.
	Allow []string `json:"allow"`
	// DurationSeconds after which it no longer holds, counted from the moment in which a running kernel takes it; 0 has no
	// end. A kernel that starts with one that ends does not know that moment, so there it does not hold.
	DurationSeconds int64 `json:"durationSeconds,omitempty"`
}

// NetworkRules limit the addresses that a model or a chat user may have the bot reach.
type NetworkRules struct {
	// AllowPrivate lifts the refusal of private, loopback and link-local addresses.
	AllowPrivate bool `json:"allowPrivate,omitempty"`
	// DenyCIDRs are networks that are never reached; sorted.
	DenyCIDRs []string `json:"denyCidrs,omitempty"`
	// AllowedPorts are the only ports; nil is every port and empty is none; sorted.
	AllowedPorts []int32 `json:"allowedPorts,omitzero"`
}

// Identity is a person on a platform.
type Identity struct {
	// Platform of the person.
	Platform string `json:"platform"`
	// UserID of the person on that platform.
	UserID string `json:"userId"`
}

// IdentityLevel gives a person a level.
type IdentityLevel struct {
	Identity
	// Level of the person; negative is a ban.
	Level int32 `json:"level"`
}

// Encode gives the canonical bytes of the config: JSON with sorted keys, no HTML escaping and no trailing newline.
// It sorts the lists of its copy first, so that the order in which they were filled does not matter. Numbers in
// plugin configs keep the form that encoding/json gives them.
func (c Config) Encode() ([]byte, error) {
	c = c.sorted()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("encoding the kernel config: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Revision is the hash of canonical bytes: 20 hexadecimal digits of their SHA-256.
func Revision(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:revisionLength]
}

// Decode reads canonical bytes strictly: an unknown field, another format, trailing data or a missing name is an
// error that says which.
func Decode(data []byte) (Config, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var c Config
	if err := dec.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("decoding the kernel config: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("decoding the kernel config: data after the document")
	}
	if c.Format != Format {
		return Config{}, fmt.Errorf("decoding the kernel config: format must be %q, got %q", Format, c.Format)
	}
	if c.Name == "" {
		return Config{}, errors.New("decoding the kernel config: name must be set")
	}
	return c, nil
}

// sorted is a shallow copy whose lists are in canonical order.
func (c Config) sorted() Config {
	c.Plugins = slices.Clone(c.Plugins)
	if c.Plugins == nil {
		c.Plugins = []Plugin{}
	}
	for i := range c.Plugins {
		c.Plugins[i].Secrets = slices.Clone(c.Plugins[i].Secrets)
		slices.SortFunc(c.Plugins[i].Secrets, func(a, b Secret) int { return strings.Compare(a.Path, b.Path) })
	}
	slices.SortFunc(c.Plugins, func(a, b Plugin) int { return strings.Compare(a.ID, b.ID) })
	c.Preferences = slices.Clone(c.Preferences)
	slices.SortFunc(c.Preferences, func(a, b Preference) int { return strings.Compare(a.Service, b.Service) })
	for i := range c.Preferences {
		c.Preferences[i].FallbackOn = slices.Clone(c.Preferences[i].FallbackOn)
		slices.Sort(c.Preferences[i].FallbackOn)
	}
	c.Budgets = slices.Clone(c.Budgets)
	slices.SortFunc(c.Budgets, func(a, b Budget) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.Budgets {
		c.Budgets[i].Steps = slices.Clone(c.Budgets[i].Steps)
		slices.SortFunc(c.Budgets[i].Steps, func(a, b BudgetStep) int { return strings.Compare(a.Action, b.Action) })
	}
	c.Personas = slices.Clone(c.Personas)
	slices.SortFunc(c.Personas, func(a, b Persona) int { return strings.Compare(a.Source, b.Source) })
	if c.Authority != nil {
		c.Authority = c.Authority.sorted()
	}
	return c
}

func (a *Authority) sorted() *Authority {
	out := *a
	out.Owners = slices.Clone(a.Owners)
	slices.SortFunc(out.Owners, compareIdentity)
	out.Levels = slices.Clone(a.Levels)
	slices.SortFunc(out.Levels, func(x, y IdentityLevel) int { return compareIdentity(x.Identity, y.Identity) })
	out.DeniedCapabilities = slices.Clone(a.DeniedCapabilities)
	slices.Sort(out.DeniedCapabilities)
	out.PreApproved = slices.Clone(a.PreApproved)
	for i := range out.PreApproved {
		out.PreApproved[i].Allow = slices.Clone(out.PreApproved[i].Allow)
		slices.Sort(out.PreApproved[i].Allow)
	}
	slices.SortFunc(out.PreApproved, func(x, y PreApproval) int {
		return cmp.Or(slices.Compare(x.Allow, y.Allow), cmp.Compare(x.DurationSeconds, y.DurationSeconds))
	})
	out.Lock = slices.Clone(a.Lock)
	slices.Sort(out.Lock)
	if a.Network != nil {
		n := *a.Network
		n.DenyCIDRs, n.AllowedPorts = slices.Clone(n.DenyCIDRs), slices.Clone(n.AllowedPorts)
		slices.Sort(n.DenyCIDRs)
		slices.Sort(n.AllowedPorts)
		out.Network = &n
	}
	return &out
}

func compareIdentity(a, b Identity) int {
	if d := strings.Compare(a.Platform, b.Platform); d != 0 {
		return d
	}
	return strings.Compare(a.UserID, b.UserID)
}

// MountedSecrets lists every distinct Secret key that the config mounts, sorted by name, then key.
func (c Config) MountedSecrets() []SecretKey {
	seen := map[SecretKey]bool{}
	var out []SecretKey
	for _, p := range c.Plugins {
		for _, s := range p.Secrets {
			k := SecretKey{Name: s.Name, Key: s.Key}
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, func(a, b SecretKey) int {
		if d := strings.Compare(a.Name, b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}

// SecretKey is one key of one Secret.
type SecretKey struct {
	// Name of the Secret.
	Name string
	// Key in it.
	Key string
}

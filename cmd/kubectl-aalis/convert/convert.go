// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// Source is what is converted.
type Source struct {
	// Config is the text of aalis.config.yaml.
	Config []byte
	// Cards are the persona cards.
	Cards []Card
	// Name of the bot; empty takes that of the config.
	Name string
	// Namespace of the objects; empty names none.
	Namespace string
	// Catalog of the runtime image.
	Catalog catalog.Catalog
	// SecretValues puts the values into the Secrets instead of leaving them empty.
	SecretValues bool
}

// Card is the file of a persona card.
type Card struct {
	// Name of the file without its suffix, by which the config names the card.
	Name string
	Data []byte
}

// Result is the bot as objects.
type Result struct {
	cluster.Objects
	// Secrets hold the keys that the Plugins and the storage refer to.
	Secrets []corev1.Secret
	// Notes tell what a person should know, in the order of the config.
	Notes []Note
}

// Note is one thing to know about a conversion.
type Note struct {
	// Path in the config, or a card.
	Path string
	// Message says what became of it.
	Message string
}

// String is the note as people read it.
func (n Note) String() string { return n.Path + ": " + n.Message }

// The top-level keys of the config that become something, apart from those of the authority.
const (
	keyName        = "name"
	keyLogLevel    = "logLevel"
	keyPlugins     = "plugins"
	keyDisabled    = "disabledPlugins"
	keyPreferences = "servicePreferences"
	keyPrefix      = "commandPrefix"
)

// botLabel is how the objects that select bots select this one alone.
const botLabel = "aalis.dev/bot"

// Convert makes the objects. An error means that the config cannot be read at all.
func Convert(src Source) (Result, error) {
	config, err := decode(src.Config)
	if err != nil {
		return Result{}, err
	}
	c := &converter{src: src, config: config, used: map[string]bool{}, cards: map[string]string{}}
	c.instance()
	c.personas()
	c.collect()
	c.storage()
	c.addPlugins()
	c.addDisabled()
	c.preferences()
	c.authority()
	c.rest()
	return c.finish(), nil
}

// decode reads YAML as kubectl does; numbers keep their digits, because account numbers are long.
func decode(data []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
		return nil, fmt.Errorf("is no YAML: %s", text)
	}
	var out any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("is no YAML: %w", err)
	}
	switch v := out.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, errors.New("must be a map at its top, with keys such as plugins")
}

type converter struct {
	src    Source
	config map[string]any
	out    Result
	bot    v1alpha1.AgentInstance
	// used are the object names that are taken, by kind and name.
	used map[string]bool
	// cards gives the Persona of a card.
	cards map[string]string
	// plugins in the order of their ids.
	plugins []*plugin
}

func (c *converter) note(path, format string, args ...any) {
	c.out.Notes = append(c.out.Notes, Note{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *converter) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.src.Namespace}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
}

// take gives an object a name that no other of its kind has.
func (c *converter) take(kind, wanted string) string {
	name := wanted
	for i := 2; c.used[kind+" "+name]; i++ {
		name = fmt.Sprintf("%s-%d", wanted, i)
	}
	c.used[kind+" "+name] = true
	return name
}

// text reads a top-level text.
func (c *converter) text(key string) string {
	switch v := c.config[key].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		c.note(key, "must be a text; left out")
		return ""
	}
}

const maxBotName = 40

func (c *converter) instance() {
	wanted := c.text(keyName)
	name := cmp.Or(c.src.Name, slug(cmp.Or(wanted, "aalis"), "bot", maxBotName))
	if wanted != "" && wanted != name {
		c.note(keyName, "%q became the object name %s", wanted, name)
	}
	c.bot = v1alpha1.AgentInstance{TypeMeta: typeMeta(v1alpha1.KindAgentInstance), ObjectMeta: c.meta(name)}
	c.bot.Labels = map[string]string{botLabel: name}
	switch level := c.text(keyLogLevel); level {
	case "":
	case "debug", "info", "warn", "error":
		c.bot.Spec.LogLevel = level
	default:
		c.note(keyLogLevel, "must be debug, info, warn or error; left out")
	}
}

// rest tells of every top-level key that has no place.
func (c *converter) rest() {
	known := append([]string{keyName, keyLogLevel, keyPlugins, keyDisabled, keyPreferences, keyPrefix}, authorityKeys...)
	for _, key := range slices.Sorted(maps.Keys(c.config)) {
		switch {
		case slices.Contains(known, key):
		case key == "autoConfirmUntil":
			c.note(key, "is state and not declaration: an owner sets it in chat; left out")
		default:
			c.note(key, "has no counterpart in the objects; left out")
		}
	}
}

// finish completes the objects and adds what the operator would say of them.
func (c *converter) finish() Result {
	c.out.Instances = []v1alpha1.AgentInstance{c.bot}
	input := c.out.Input(&c.bot)
	input.Catalog = c.src.Catalog
	for _, p := range compose.Compose(input).Problems {
		c.note("result", "%s", p.String())
	}
	return c.out
}

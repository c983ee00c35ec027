// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

const (
	doorModule   = "platform-openai"
	doorPort     = 8080
	tokensPath   = "tokens"
	modulePrefix = "@aalis/plugin-"
)

// Door is the way into a bot: its OpenAI-compatible endpoint and one person's token.
type Door struct {
	// Pod that serves the endpoint.
	Pod string
	// Port of the endpoint.
	Port int
	// Person that the token stands for.
	Person string
	// Token of the person.
	Token string
}

// FindDoor finds the way into a bot as the named person, or as the first one of the token Secret when person is
// empty. Its errors say what is missing and how to get it.
func FindDoor(ctx context.Context, c *Clients, namespace, name, person string) (Door, error) {
	inst, err := c.instance(ctx, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return Door{}, fmt.Errorf("there is no AgentInstance %q in namespace %q", name, namespace)
	case err != nil:
		return Door{}, fmt.Errorf("reading AgentInstance %s/%s: %w", namespace, name, err)
	}
	plugin, err := c.findPlugin(ctx, inst)
	if err != nil {
		return Door{}, err
	}
	door := Door{Pod: "aalis-" + name + "-0", Port: configuredPort(plugin)}
	door.Person, door.Token, err = c.token(ctx, plugin, person)
	return door, err
}

func (c *Clients) findPlugin(ctx context.Context, inst *aalisv1alpha1.AgentInstance) (*aalisv1alpha1.Plugin, error) {
	for _, entry := range inst.Spec.Plugins {
		if entry.Module != "" || entry.State == aalisv1alpha1.RunStateDisabled {
			continue
		}
		p, err := c.plugin(ctx, inst.Namespace, entry.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading Plugin %s/%s: %w", inst.Namespace, entry.Name, err)
		}
		if strings.TrimPrefix(p.Spec.Module, modulePrefix) == doorModule {
			return p, nil
		}
	}
	return nil, fmt.Errorf("bot %q has no plugin of module %s; add one to its spec.plugins to talk to it", inst.Name, doorModule)
}

func configuredPort(p *aalisv1alpha1.Plugin) int {
	var config struct {
		Port int `json:"port"`
	}
	if p.Spec.Config == nil || json.Unmarshal(p.Spec.Config.Raw, &config) != nil || config.Port == 0 {
		return doorPort
	}
	return config.Port
}

func (c *Clients) token(ctx context.Context, p *aalisv1alpha1.Plugin, person string) (user, token string, err error) {
	for _, s := range p.Spec.Secrets {
		if s.Path != tokensPath {
			continue
		}
		secret, err := c.secret(ctx, p.Namespace, s.SecretKeyRef.Name)
		if err != nil {
			return "", "", fmt.Errorf("reading the token: %w", err)
		}
		data, ok := secret.Data[s.SecretKeyRef.Key]
		if !ok {
			return "", "", fmt.Errorf("secret %s/%s has no key %q", p.Namespace, s.SecretKeyRef.Name, s.SecretKeyRef.Key)
		}
		return pickToken(data, person, s.SecretKeyRef.Name)
	}
	return "", "", fmt.Errorf("plugin %s/%s has no secret for %q in spec.secrets: nobody can talk to it", p.Namespace, p.Name, tokensPath)
}

// pickToken reads lines of the form "person: token"; blank lines and lines that begin with # do not count.
func pickToken(data []byte, person, secretName string) (user, token string, err error) {
	var people []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		// The first colon ends the person: a token may hold more of them.
		u, t, _ := strings.Cut(line, ":")
		u, t = strings.TrimSpace(u), strings.TrimSpace(t)
		if u == "" || t == "" {
			continue
		}
		if person == "" || person == u {
			return u, t, nil
		}
		people = append(people, u)
	}
	if len(people) == 0 {
		return "", "", fmt.Errorf("secret %s has no line of the form \"person: token\"", secretName)
	}
	return "", "", fmt.Errorf("secret %s has no token for %q, only for %s", secretName, person, strings.Join(people, ", "))
}

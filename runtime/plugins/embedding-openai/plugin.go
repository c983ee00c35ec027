// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embeddingopenai is the plugin @aalis/plugin-embedding-openai: vectors of texts, made by OpenAI or by a server that
// speaks its protocol. It provides the service embedding, whether the server answers or not.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package keeps nothing of what is embedded.
package embeddingopenai

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/embedding"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/vectors"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-embedding-openai"

const (
	officialHost = "api.openai.com"
	timeout      = time.Minute
)

// Config of the module.
type Config struct {
	APIKey  string `json:"apiKey" label:"API key" secret:"true" maxLength:"4096" desc:"Key of the server. Required for api.openai.com; servers of one's own may need none."`
	BaseURL string `json:"baseUrl" label:"Base URL" maxLength:"2048" desc:"Address of the server, with or without /v1 at its end. Names and private addresses inside the cluster are fine; link-local and metadata addresses are refused, and so are loopback ones in a cluster."`
	Model   string `json:"model" label:"Model" required:"true" maxLength:"256" desc:"Id of the model that makes the vectors. Vectors of different models cannot be compared: what is stored must be made again after a change."`
	Prices  string `json:"prices" label:"Prices" type:"textarea" maxLength:"65536" desc:"What models cost: one \"model id: USD prompt=0.02 completion=0\" a line, in units of the currency for a million tokens, with at most nine decimals. A model that is not listed has no price; none is guessed. Lines that begin with # are comments."`
}

// Default is the config of an instance that says nothing.
func Default() Config {
	return Config{BaseURL: "https://" + officialHost, Model: "text-embedding-3-small"}
}

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "OpenAI-compatible embeddings",
	Summary:     "Vectors of texts, by OpenAI or a server that speaks its protocol.",
	Stability:   kernel.Beta,
	Provides:    []string{embedding.Service.Name()},
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
	Reusable:    true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	ep, err := llmhttp.Server{
		Vendor: "OpenAI", BaseURL: cfg.BaseURL, Key: cfg.APIKey, KeyHost: officialHost, Versioned: true,
	}.Open(k)
	if err != nil {
		return err
	}
	price, err := vectors.PriceOf(cfg.Prices, cfg.Model)
	if err != nil {
		return err
	}
	reprice := vectors.Start(k, ep, backend{}, vectors.Options{Model: cfg.Model, Price: price, Timeout: timeout, Wait: llmhttp.Sleep})
	vectors.Reprice(k, reprice, func(c Config) (prices, model string, rest Config) {
		prices, c.Prices = c.Prices, ""
		return prices, c.Model, c
	})
	return nil
}

// backend speaks OpenAI's protocol.
type backend struct{}

// Embed implements vectors.Backend.
func (backend) Embed(ctx context.Context, ep *llmhttp.Endpoint, model, text string) ([]float32, *llm.Usage, error) {
	body := struct {
		Model          string `json:"model"`
		Input          string `json:"input"`
		EncodingFormat string `json:"encoding_format"`
	}{model, text, "float"}
	var out struct {
		Data []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage *struct {
			PromptTokens llmhttp.Count `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := ep.PostJSON(ctx, "embeddings", body, &out); err != nil {
		return nil, nil, err
	}
	if len(out.Data) == 0 {
		return nil, nil, llmhttp.ErrNonsense
	}
	var took *llm.Usage
	if out.Usage != nil {
		took = &llm.Usage{PromptTokens: int(out.Usage.PromptTokens)}
	}
	return out.Data[0].Embedding, took, nil
}

// List implements vectors.Backend.
func (backend) List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error) {
	return completions.ListAll(ctx, ep, "models")
}

var _ vectors.Backend = backend{}

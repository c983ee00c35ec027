// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embeddingollama is the plugin @aalis/plugin-embedding-ollama: vectors of texts, made by an Ollama server. It
// provides the service embedding, whether the server answers or not.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package keeps nothing of what is embedded.
package embeddingollama

import (
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/embedding"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/vectors"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-embedding-ollama"

// Config of the module.
type Config struct {
	BaseURL   string `json:"baseUrl" label:"Base URL" maxLength:"2048" desc:"Address of the server. Names and private addresses inside the cluster are fine; link-local and metadata addresses are refused, and so are loopback ones in a cluster."`
	Model     string `json:"model" label:"Model" required:"true" maxLength:"256" desc:"Id of the model that makes the vectors. Vectors of different models cannot be compared: what is stored must be made again after a change."`
	Prices    string `json:"prices" label:"Prices" type:"textarea" maxLength:"65536" desc:"What models cost: one \"model id: USD prompt=0.02 completion=0\" a line, in units of the currency for a million tokens, with at most nine decimals. A model that is not listed has no price; none is guessed. Lines that begin with # are comments."`
	TimeoutMs int    `json:"timeoutMs" label:"Timeout (milliseconds)" min:"1000" max:"3600000" desc:"Longest time of one attempt, in milliseconds, the loading of the model included."`
	Retries   int    `json:"retries" label:"Retries" min:"0" max:"10" desc:"How often a call is made again when the server cannot be reached or fails."`
}

// Default is the config of an instance that says nothing.
func Default() Config {
	return Config{BaseURL: "http://localhost:11434", Model: "nomic-embed-text", TimeoutMs: 30000, Retries: 1}
}

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "Ollama embeddings",
	Summary:     "Vectors of texts, by an Ollama server.",
	Stability:   kernel.Beta,
	Provides:    []string{embedding.Service.Name()},
	Permissions: []kernel.Permission{kernel.Network},
	Reusable:    true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	ep, err := llmhttp.Server{Vendor: "Ollama", BaseURL: cfg.BaseURL}.Open(k)
	if err != nil {
		return err
	}
	price, err := vectors.PriceOf(cfg.Prices, cfg.Model)
	if err != nil {
		return err
	}
	reprice := vectors.Start(k, ep, &backend{}, vectors.Options{
		Model: cfg.Model, Price: price, Timeout: time.Duration(cfg.TimeoutMs) * time.Millisecond, Retries: cfg.Retries, Wait: llmhttp.Sleep,
	})
	vectors.Reprice(k, reprice, func(c Config) (prices, model string, rest Config) {
		prices, c.Prices = c.Prices, ""
		return prices, c.Model, c
	})
	return nil
}

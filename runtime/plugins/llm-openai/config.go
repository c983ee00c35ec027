// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import "github.com/aalis-dev/aalis-operator/runtime/llmhttp"

// officialHost is the one server that surely wants a key.
const officialHost = "api.openai.com"

// Config of the module.
type Config struct {
	APIKey               string  `json:"apiKey" label:"API key" secret:"true" maxLength:"4096" desc:"Key of the server. Required for api.openai.com; servers of one's own may need none."`
	BaseURL              string  `json:"baseUrl" label:"Base URL" maxLength:"2048" desc:"Address of the server, with or without /v1 at its end. Names and private addresses inside the cluster are fine; link-local and metadata addresses are refused, and so are loopback ones in a cluster."`
	CustomModels         string  `json:"customModels" label:"Models" type:"textarea" maxLength:"65536" desc:"Ids of models, separated by commas or line breaks, that are offered without asking the server. Lines that begin with # are comments."`
	ModelCapabilities    string  `json:"modelCapabilities" label:"Capabilities of models" type:"textarea" maxLength:"65536" desc:"What single models can do, instead of what their name suggests: one \"model id: capability, capability\" a line, out of chat, tool_calling, streaming, vision, thinking, audio, audio_transcription and video. Lines that begin with # are comments."`
	ProviderCapabilities string  `json:"providerCapabilities" label:"Capabilities of all models" maxLength:"1024" desc:"What every model of this server can do in addition, separated by commas or blanks."`
	Prices               string  `json:"prices" label:"Prices" type:"textarea" maxLength:"65536" desc:"What single models cost: one \"model id: USD prompt=0.15 cached=0.075 completion=0.60\" a line, in units of the currency for a million tokens, with at most nine decimals. cached is that of prompt where it is left out. A model that is not listed has no price; none is guessed. Lines that begin with # are comments."`
	Timeout              float64 `json:"timeout" label:"Timeout (seconds)" min:"0" max:"86400" desc:"Longest time of a whole reply, in seconds, retries included. 0 means no limit."`
	Temperature          float64 `json:"temperature" label:"Temperature" min:"0" max:"2" desc:"Sampling temperature when a request asks for none. Not sent to reasoning models, which refuse it."`
	MaxTokens            int     `json:"maxTokens" label:"Longest reply (tokens)" min:"1" max:"10000000" desc:"Most tokens of a reply when a request asks for no other limit."`
	ContextLength        int     `json:"contextLength" label:"Context length (tokens)" min:"1024" max:"100000000" desc:"How many tokens, prompt and reply together, the models take."`
}

// Default is the config of an instance that says nothing.
func Default() Config {
	return Config{
		BaseURL:       "https://" + officialHost,
		Timeout:       120,
		Temperature:   0.7,
		MaxTokens:     4096,
		ContextLength: 128000,
	}
}

func (c Config) server() llmhttp.Server {
	return llmhttp.Server{Vendor: "OpenAI", BaseURL: c.BaseURL, Key: c.APIKey, KeyHost: officialHost, Versioned: true}
}

// settings is what of the config can change while the plugin runs. It is never modified.
type settings struct{ llmhttp.Settings }

func (c Config) settings() (*settings, error) {
	models, err := llmhttp.ReadModels(c.CustomModels, c.ModelCapabilities, c.ProviderCapabilities, c.Prices)
	return &settings{llmhttp.Settings{
		Timeout: llmhttp.Seconds(c.Timeout), Temperature: c.Temperature, MaxTokens: c.MaxTokens,
		ContextLength: c.ContextLength, Models: models,
	}}, err
}

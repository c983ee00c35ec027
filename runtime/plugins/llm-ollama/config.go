// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// Config of the module.
type Config struct {
	BaseURL              string  `json:"baseUrl" label:"Base URL" maxLength:"2048" desc:"Address of the server. Names and private addresses inside the cluster are fine; link-local and metadata addresses are refused, and so are loopback ones in a cluster."`
	CustomModels         string  `json:"customModels" label:"Models" type:"textarea" maxLength:"65536" desc:"Ids of models, separated by commas or line breaks, that are offered without asking the server. Lines that begin with # are comments."`
	ModelCapabilities    string  `json:"modelCapabilities" label:"Capabilities of models" type:"textarea" maxLength:"65536" desc:"What single models can do, instead of what the server says: one \"model id: capability, capability\" a line, out of chat, tool_calling, streaming, vision, thinking, audio, audio_transcription and video. The last colon separates, so tags may be part of the id. Lines that begin with # are comments."`
	ProviderCapabilities string  `json:"providerCapabilities" label:"Capabilities of all models" maxLength:"1024" desc:"What every model of this server can do in addition, separated by commas or blanks."`
	Prices               string  `json:"prices" label:"Prices" type:"textarea" maxLength:"65536" desc:"What single models cost: one \"model id: USD prompt=0.15 cached=0.075 completion=0.60\" a line, in units of the currency for a million tokens, with at most nine decimals. cached is that of prompt where it is left out. A model that is not listed has no price; none is guessed. Lines that begin with # are comments."`
	Timeout              float64 `json:"timeout" label:"Timeout (seconds)" min:"0" max:"86400" desc:"Longest time of a whole reply, in seconds, retries and the loading of the model included. 0 means no limit."`
	Temperature          float64 `json:"temperature" label:"Temperature" min:"0" max:"2" desc:"Sampling temperature when a request asks for none."`
	MaxTokens            int     `json:"maxTokens" label:"Longest reply (tokens)" min:"1" max:"10000000" desc:"Most tokens of a reply when a request asks for no other limit (num_predict)."`
	ContextLength        int     `json:"contextLength" label:"Context length (tokens)" min:"1024" max:"100000000" desc:"How many tokens, prompt and reply together, the server is to make room for (num_ctx)."`
	KeepAlive            string  `json:"keepAlive" label:"Keep in memory" maxLength:"32" desc:"How long the server keeps a model loaded after a reply, such as 5m; a number of seconds; -1 for ever."`
	Thinking             bool    `json:"thinking" label:"Thinking" desc:"Whether models that can think do so when a request does not say."`
}

// Default is the config of an instance that says nothing.
func Default() Config {
	return Config{
		BaseURL:       "http://localhost:11434",
		Timeout:       120,
		Temperature:   0.7,
		MaxTokens:     4096,
		ContextLength: 8192,
		KeepAlive:     "5m",
		Thinking:      true,
	}
}

func (c Config) server() llmhttp.Server { return llmhttp.Server{Vendor: "Ollama", BaseURL: c.BaseURL} }

// settings is what of the config can change while the plugin runs. It is never modified.
type settings struct {
	llmhttp.Settings

	keepAlive any  // as the server wants it: a text or a number
	thinking  bool // when a request does not say
}

func (c Config) settings() (*settings, error) {
	models, err := llmhttp.ReadModels(c.CustomModels, c.ModelCapabilities, c.ProviderCapabilities, c.Prices)
	keepAlive, keepErr := readKeepAlive(c.KeepAlive)
	return &settings{
		Settings: llmhttp.Settings{
			Timeout: llmhttp.Seconds(c.Timeout), Temperature: c.Temperature, MaxTokens: c.MaxTokens,
			ContextLength: c.ContextLength, Models: models,
		},
		keepAlive: keepAlive, thinking: c.Thinking,
	}, errors.Join(err, keepErr)
}

func readKeepAlive(text string) (any, error) {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return seconds, nil
	}
	if _, err := time.ParseDuration(text); err != nil {
		return nil, fmt.Errorf("config.keepAlive: must be a time such as 5m or a number of seconds, got %q", text)
	}
	return text, nil
}

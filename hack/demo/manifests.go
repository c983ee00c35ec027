// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed fakellm.yaml
var fakellmManifest string

// sampleModel is the model that the samples name.
const sampleModel = "gpt-4o-mini"

// pointAt changes the samples, as kubectl kustomize prints them, so that the Plugin main uses the given endpoint
// and model. Everything else stays as it is in the repository.
func pointAt(samples, baseURL, model string) (string, error) {
	docs := strings.Split(samples, "\n---\n")
	for i, doc := range docs {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(doc), &obj); err != nil {
			return "", fmt.Errorf("reading the samples: %w", err)
		}
		if spec, ok := obj["spec"].(map[string]any); ok && obj["kind"] == "Plugin" && spec["module"] == "llm-openai" {
			config, ok := spec["config"].(map[string]any)
			if !ok {
				return "", fmt.Errorf("reading the samples: the llm-openai Plugin has no config")
			}
			config["baseUrl"], config["customModels"] = baseURL, model
		}
		out, err := yaml.Marshal(obj)
		if err != nil {
			return "", fmt.Errorf("writing the samples: %w", err)
		}
		docs[i] = strings.ReplaceAll(string(out), "id: "+sampleModel+"\n", fmt.Sprintf("id: %q\n", model))
	}
	return strings.Join(docs, "---\n"), nil
}

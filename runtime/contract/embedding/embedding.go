// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedding is the contract between plugins that turn texts into vectors and plugins that search by meaning.
// It holds no implementation.
package embedding

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service embedding.
var Service = kernel.NewService[Embedder]("embedding")

// Embedder turns texts into vectors. Its methods may be called concurrently.
type Embedder interface {
	// Model is the id of the model that makes the vectors. Vectors of different models cannot be compared.
	Model() string
	// Embed gives the vector of a text. Its length is the same for every text of one model and never 0.
	Embed(ctx context.Context, text string) ([]float32, error)
	// ListModels asks the provider which models it offers.
	ListModels(ctx context.Context) ([]string, error)
}

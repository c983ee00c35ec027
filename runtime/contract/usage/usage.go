// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage is the contract of the book that a bot keeps of what its calls of models took.
package usage

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

// Service is the key of the service usage.
var Service = kernel.NewService[Book]("usage")

// Book is what was used. Its methods may be called concurrently.
type Book interface {
	// Report copies the book.
	Report() usagebook.Report
}

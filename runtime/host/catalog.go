// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Catalog describes modules as the operator and the command-line tools want them.
func Catalog(modules []kernel.Module) (catalog.Catalog, error) {
	list := make([]catalog.Module, 0, len(modules))
	for _, m := range modules {
		permissions := make([]string, 0, len(m.Permissions))
		for _, p := range m.Permissions {
			permissions = append(permissions, string(p))
		}
		list = append(list, catalog.Module{
			Name: m.Name, DisplayName: m.DisplayName, Summary: m.Summary, Stability: string(m.Stability),
			Provides: m.Provides, MayProvide: m.MayProvide, Required: m.Inject.Required, Optional: m.Inject.Optional, Permissions: permissions,
			OnByDefault: m.OnByDefault, Core: m.Core, Reusable: m.Reusable,
			RequiresBounceOnDepChange: m.RequiresBounceOnDepChange, Config: m.Config,
		})
	}
	c, err := catalog.New(list)
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("making the catalog: %w", err)
	}
	return c, nil
}

// CatalogHash is the hash of the modules' catalog.
func CatalogHash(modules []kernel.Module) (string, error) {
	c, err := Catalog(modules)
	if err != nil {
		return "", err
	}
	return c.Hash()
}

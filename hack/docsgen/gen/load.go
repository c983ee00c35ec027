// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// LoadCRDs reads the CRDs of a directory, one a file, in the order of the file names.
func LoadCRDs(dir string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing the CRDs: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("listing the CRDs: there is no *.yaml file in " + dir)
	}
	slices.Sort(files)
	out := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD: %w", err)
		}
		if err := yaml.UnmarshalStrict(data, &out[i]); err != nil {
			return nil, fmt.Errorf("reading the CRD of %s: %w", file, err)
		}
		if out[i].Kind != "CustomResourceDefinition" {
			return nil, fmt.Errorf("reading the CRD of %s: kind must be CustomResourceDefinition, got %q", file, out[i].Kind)
		}
	}
	return out, nil
}

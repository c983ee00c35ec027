// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// ReadMounted reads the mounted copy of the ConfigMap. Files that are not there are slots that are empty.
func ReadMounted(dir string) (Update, error) {
	data, binaryData := map[string]string{}, map[string][]byte{}
	for _, name := range []string{kernelconfig.KeyCurrent, kernelconfig.KeyLastGood} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case err == nil:
			data[name] = string(content)
		case !errors.Is(err, fs.ErrNotExist):
			return Update{}, fmt.Errorf("reading the mounted config: %w", err)
		}
	}
	for _, name := range []string{kernelconfig.KeyCurrentData, kernelconfig.KeyLastGoodData} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case err == nil:
			binaryData[name] = content
		case !errors.Is(err, fs.ErrNotExist):
			return Update{}, fmt.Errorf("reading the mounted config: %w", err)
		}
	}
	return readUpdate(data, binaryData), nil
}

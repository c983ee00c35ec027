// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
)

// baseline is what the machine was like before the cluster, as far as the
// cluster changes it: the way back restores it.
type baseline struct {
	// Boot is the boot in which it was noted; kernel settings and the firewall
	// do not outlive one.
	Boot string `json:"boot"`
	// Chains are firewall chains that were there before.
	Chains []string `json:"chains"`
	// Settings are kernel settings as they were.
	Settings host.Settings `json:"settings"`
}

func (c *Cluster) baselineFile() string { return filepath.Join(c.State, "baseline.json") }

// readBaseline returns what was noted in this boot, if anything was.
func (c *Cluster) readBaseline() (b baseline, known bool) {
	data, err := os.ReadFile(c.baselineFile())
	if err != nil {
		return baseline{}, false
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return baseline{}, false
	}
	boot, err := c.procs.Boot()
	if err != nil || b.Boot != boot {
		return baseline{}, false
	}
	return b, true
}

func (c *Cluster) writeBaseline(b baseline) error {
	boot, err := c.procs.Boot()
	if err != nil {
		return err
	}
	b.Boot = boot
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encoding the baseline: %w", err)
	}
	return writeIfChanged(c.baselineFile(), data, 0o644)
}

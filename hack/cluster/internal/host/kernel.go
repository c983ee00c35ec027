// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LoadModules loads the kernel modules that pods need. A kernel that has them
// built in has no such modules, so that only EnsureSettings can tell.
func LoadModules(ctx context.Context) {
	for _, module := range []string{"br_netfilter", "overlay", "xt_comment", "xt_mark", "ip_set"} {
		_, _ = run(ctx, "", "modprobe", "-q", module)
	}
}

// required are the kernel settings without which pods have no network.
var required = map[string]string{
	"net.ipv4.ip_forward":                "1",
	"net.bridge.bridge-nf-call-iptables": "1",
}

// touched are settings that the kubelet, kube-proxy and the CNI plugins change
// on their own; they are noted down to be put back.
var touched = []string{
	"net.ipv4.ip_forward",
	"net.bridge.bridge-nf-call-iptables",
	"net.ipv4.conf.all.route_localnet",
	"vm.overcommit_memory",
	"kernel.panic",
	"kernel.panic_on_oops",
	"kernel.keys.root_maxkeys",
	"kernel.keys.root_maxbytes",
}

// Settings are kernel settings by their dotted names.
type Settings map[string]string

// ReadSettings returns the present values of all settings that the cluster
// changes; those that the kernel does not have are left out.
func ReadSettings() Settings {
	out := Settings{}
	for _, name := range touched {
		if value, err := os.ReadFile(settingFile(name)); err == nil {
			out[name] = strings.TrimSpace(string(value))
		}
	}
	return out
}

// EnsureSettings sets what pods need.
func EnsureSettings() error {
	var errs []error
	for name, value := range required {
		errs = append(errs, set(name, value))
	}
	return errors.Join(errs...)
}

// Restore puts settings back to noted values.
func (s Settings) Restore() error {
	var errs []error
	for name, value := range s {
		errs = append(errs, set(name, value))
	}
	return errors.Join(errs...)
}

func set(name, value string) error {
	file := settingFile(name)
	if now, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(now)) == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		return fmt.Errorf("setting %s to %s: %w", name, value, err)
	}
	return nil
}

func settingFile(name string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
}

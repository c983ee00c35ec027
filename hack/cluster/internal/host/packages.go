// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Package is a Debian package with a file that tells whether it is there. The
// file, not the package database, is asked: a program that came another way
// does as well.
type Package struct {
	Name string
	// Probe is a command to be found in PATH, or an absolute file name.
	Probe string
}

// Packages returns what the cluster needs of Debian.
func Packages() []Package {
	return []Package{
		{"containerd", "containerd"},
		{"runc", "runc"},
		{"containernetworking-plugins", "/usr/lib/cni/bridge"},
		{"iptables", "iptables-save"},
		{"ipset", "ipset"},
		{"conntrack", "conntrack"},
		{"iproute2", "ip"},
		{"kmod", "modprobe"},
		{"mount", "mount"},
		{"util-linux", "nsenter"},
		{"busybox-static", "/bin/busybox"},
		{"ca-certificates", "/etc/ssl/certs/ca-certificates.crt"},
	}
}

// MissingPackages returns the names of the packages whose probe fails.
func MissingPackages(packages []Package) []string {
	var missing []string
	for _, p := range packages {
		var err error
		if strings.HasPrefix(p.Probe, "/") {
			_, err = os.Stat(p.Probe)
		} else {
			_, err = exec.LookPath(p.Probe)
		}
		if err != nil {
			missing = append(missing, p.Name)
		}
	}
	return missing
}

// InstallPackages installs Debian packages without asking anything. Their
// services are neither needed nor relied on.
func InstallPackages(ctx context.Context, names []string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("missing on this machine: %s; install them (no apt-get here to do it)", strings.Join(names, ", "))
	}
	for _, argv := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, names...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", argv...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", argv[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// NotInstalled returns those of the named Debian packages that the package
// database does not list as installed.
func NotInstalled(ctx context.Context, names []string) []string {
	var out []string
	for _, name := range names {
		status, err := run(ctx, "", "dpkg-query", "--show", "--showformat=${db:Status-Status}", name)
		if err != nil || status != "installed" {
			out = append(out, name)
		}
	}
	return out
}

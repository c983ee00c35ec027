// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host changes the machine for the development cluster and changes it
// back: Debian packages, the pods' bridge, firewall chains, address sets,
// kernel settings, cgroups and mounts.
//
// Only hack/cluster calls it. Whatever it makes carries a name of the cluster's
// own or is noted down before, so that the way back touches nothing else. What
// can be decided without the machine (which firewall lines to delete, which
// mounts belong to a folder) is in pure functions.
package host

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// run runs a tool and returns its standard output; its error has what the tool
// said.
func run(ctx context.Context, stdin string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image writes a container image tarball from files on this machine:
//
//	go run ./hack/image --out bin/operator.tar --tag aalis.local/aalis-operator:dev \
//	    --entrypoint /aalis-operator bin/aalis-operator=/aalis-operator
//
// The result is imported with "ctr -n k8s.io images import" (or
// "go run ./hack/cluster load") and with "kind load image-archive".
// It needs no container engine, no base image and no network.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aalis-dev/aalis-operator/hack/image/archive"
)

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	out   string
	links []string
	modes []string
	spec  archive.Spec
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:          "image --out FILE.tar --tag NAME:TAG --entrypoint /PATH SOURCE=/TARGET...",
		Short:        "Write a container image tarball without a container engine",
		Args:         cobra.MinimumNArgs(1),
		SilenceUsage: true,
		RunE:         func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "tarball to write")
	f.StringVar(&o.spec.Tag, "tag", "", "name and tag of the image, NAME:TAG")
	f.StringSliceVar(&o.spec.Entrypoint, "entrypoint", nil, "command of the image; commas separate its arguments")
	f.StringSliceVar(&o.spec.Cmd, "cmd", nil, "default arguments of the entrypoint; commas separate them")
	f.StringArrayVar(&o.spec.Env, "env", nil, "environment variable KEY=VALUE (repeatable)")
	f.StringToStringVar(&o.spec.Labels, "label", nil, "label KEY=VALUE (repeatable)")
	f.StringVar(&o.spec.User, "user", "65532:65532", "numeric user and group of the image's processes")
	f.StringVar(&o.spec.Architecture, "arch", runtime.GOARCH, "architecture that the binaries were built for")
	f.StringVar(&o.spec.CABundle, "ca-bundle", archive.DefaultCABundle, "CA certificates to put into the image when the file exists; empty for none")
	f.StringArrayVar(&o.links, "link", nil, "symbolic link /PATH=TARGET (repeatable)")
	f.StringArrayVar(&o.modes, "mode", nil, "permissions of a target, /TARGET=0644 (repeatable; default 0755)")
	for _, required := range []string{"out", "tag", "entrypoint"} {
		cobra.CheckErr(cmd.MarkFlagRequired(required))
	}
	return cmd
}

func (o *options) run(args []string) error {
	modes := map[string]uint32{}
	for _, arg := range o.modes {
		target, text, _ := strings.Cut(arg, "=")
		mode, err := strconv.ParseUint(text, 8, 9)
		if err != nil || mode == 0 {
			return fmt.Errorf("--mode %q: want /TARGET=MODE with an octal mode such as 0644", arg)
		}
		modes[target] = uint32(mode)
	}
	for _, arg := range args {
		source, target, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("argument %q: want SOURCE=/TARGET", arg)
		}
		file := archive.File{Source: source, Target: target, Mode: os.FileMode(modes[target])}
		delete(modes, target)
		o.spec.Files = append(o.spec.Files, file)
	}
	for target := range modes {
		return fmt.Errorf("--mode: %s is not the target of any file", target)
	}
	for _, arg := range o.links {
		path, target, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("--link %q: want /PATH=TARGET", arg)
		}
		o.spec.Links = append(o.spec.Links, archive.Link{Path: path, Target: target})
	}
	return archive.WriteFile(o.out, o.spec)
}

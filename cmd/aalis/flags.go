// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/host"
)

// parse reads flags that may stand before, between and behind the other arguments, of which at most limit are allowed; a
// negative limit allows any number. If it fails, ok is false and code is the exit code.
func parse(flags *flag.FlagSet, args []string, limit int) (others []string, code int, ok bool) {
	others, err := interspersed(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, host.ExitOK, false
	case err != nil:
		return nil, host.ExitUsage, false // the flag set has printed it
	case limit >= 0 && len(others) > limit:
		_, _ = fmt.Fprintf(flags.Output(), "%s: unexpected argument %q\n", flags.Name(), others[limit])
		return nil, host.ExitUsage, false
	}
	return others, host.ExitOK, true
}

// interspersed parses on behind every argument that is no flag. Behind -- there are no flags.
func interspersed(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if used := len(args) - len(rest); len(rest) == 0 || used > 0 && args[used-1] == "--" {
			return append(others, rest...), nil
		}
		others = append(others, rest[0])
		args = rest[1:]
	}
}

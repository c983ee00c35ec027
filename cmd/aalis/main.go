// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command aalis runs a bot: in a pod under the operator (aalis run --cluster), or on any machine from the same YAML
// (aalis run bot.yaml). It also prints the catalog of the modules it ships.
//
// Exit codes: 0 ended as asked; 1 something went wrong; 2 the command line or the declaration is wrong and nothing was
// started; 128+n ended at once by the second signal, whose number is n.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host"
)

//go:generate sh -c "go run . catalog -o json > ../../runtime/catalog/catalog.json.new && mv ../../runtime/catalog/catalog.json.new ../../runtime/catalog/catalog.json"

// version is set when a release is built.
var version = "dev"

const usage = `Usage: aalis COMMAND

Commands:
  run FILE...     run the bot that YAML files declare, and talk to it
  run --cluster   run the bot of this pod
  catalog         print the shipped plugin modules
  version         print the version

"aalis COMMAND -h" lists the flags of a command.

Exit codes: 0 ended as asked, 1 something went wrong, 2 the command line or the declaration is wrong and nothing was
started, 128+n ended at once by a second signal n. One SIGINT or SIGTERM lets running answers finish.
`

func main() {
	os.Exit(run(process{
		args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, lookupEnv: os.LookupEnv,
		exit: os.Exit, started: time.Now(),
	}))
}

// process is what a run of the program has to do with the outside.
type process struct {
	args      []string
	in        *os.File
	out, err  io.Writer
	getenv    func(string) string
	lookupEnv func(string) (string, bool)
	exit      func(code int)
	started   time.Time
}

// run dispatches to the commands and returns the exit code.
func run(p process) int {
	if len(p.args) == 0 {
		_, _ = io.WriteString(p.err, usage)
		return host.ExitUsage
	}
	command := p.args[0]
	p.args = p.args[1:]
	switch command {
	case "run":
		return p.run(context.Background())
	case "catalog":
		return p.catalog()
	case "version":
		_, _ = fmt.Fprintln(p.out, "aalis", buildVersion(), runtime.Version())
		return host.ExitOK
	case "help", "-h", "-help", "--help":
		_, _ = io.WriteString(p.out, usage)
		return host.ExitOK
	}
	_, _ = fmt.Fprintf(p.err, "aalis: unknown command %q\n\n%s", command, usage)
	return host.ExitUsage
}

// buildVersion is the version of a release, or the commit of any other build.
func buildVersion() string {
	if version != "dev" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "-" + s.Value[:12]
		}
	}
	return version
}

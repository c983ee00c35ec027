// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/host/console"
	"github.com/aalis-dev/aalis-operator/runtime/host/kube"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
)

// runFlags are the flags of aalis run.
type runFlags struct {
	cluster    bool
	name       string
	once       string
	quiet      bool
	secrets    repeated
	logLevel   string
	addr       string
	dataDir    string
	configDir  string
	secretsDir string
	accountDir string
	apiURL     string
	personas   string
	paths      []string
	tracing    host.TracingOptions
}

// repeated is a flag that may be given several times.
type repeated []string

// String implements flag.Value.
func (r *repeated) String() string { return strings.Join(*r, " ") }

// Set implements flag.Value.
func (r *repeated) Set(v string) error {
	*r = append(*r, v)
	return nil
}

func (p process) runFlags() (runFlags, int, bool) {
	var f runFlags
	flags := flag.NewFlagSet("aalis run", flag.ContinueOnError)
	flags.SetOutput(p.err)
	flags.BoolVar(&f.cluster, "cluster", false, "run the bot of this pod instead of files")
	flags.StringVar(&f.name, "name", "", "`name` of the AgentInstance, when the files declare several")
	flags.StringVar(&f.once, "once", "", "send this one `message`, print the answer and end")
	flags.BoolVar(&f.quiet, "quiet", false, "print nothing but answers and errors")
	flags.Var(&f.secrets, "secret", "take a Secret key from `NAME/KEY=file:PATH` or NAME/KEY=env:VARIABLE; may be repeated")
	flags.StringVar(&f.logLevel, "log-level", "", "debug, info, warn or error; default: warn for files, what the bot declares in a cluster")
	flags.StringVar(&f.addr, "metrics-addr", "", "`address` of /livez, /readyz and /metrics; default: "+host.DefaultAddr+" in a cluster, none for files")
	flags.StringVar(&f.dataDir, "data-dir", "", "`directory` for what plugins keep; default: "+host.DefaultDataDir+" in a cluster, .aalis for files")
	flags.StringVar(&f.personas, "personas", "", "`directory` of persona cards (NAME.yaml) that a conversation may choose; default: personas below --data-dir, if it is there")
	f.tracing.Flags(flags)
	flags.StringVar(&f.configDir, "config-dir", host.DefaultConfigDir, "cluster: `directory` of the mounted config")
	flags.StringVar(&f.secretsDir, "secrets-dir", host.DefaultSecretsDir, "cluster: `directory` of the mounted Secrets")
	flags.StringVar(&f.accountDir, "service-account-dir", kube.ServiceAccountDir, "cluster: `directory` of the pod's credentials")
	flags.StringVar(&f.apiURL, "api-url", "", "cluster: `URL` of the Kubernetes API; default: that of the pod's environment")
	paths, code, ok := parse(flags, p.args, -1)
	if !ok {
		return f, code, false
	}
	f.paths = paths
	if problem := f.problem(); problem != "" {
		_, _ = fmt.Fprintln(p.err, "aalis:", problem)
		return f, host.ExitUsage, false
	}
	return f, 0, true
}

func (f runFlags) problem() string {
	switch {
	case f.cluster && len(f.paths) > 0:
		return "--cluster takes no files"
	case !f.cluster && len(f.paths) == 0:
		return "name the YAML files that declare the bot, or --cluster in a pod"
	case f.cluster && f.personas != "":
		return "--personas is for files; in a cluster declare Personas and list them in spec.personas"
	case f.logLevel != "" && !slices.Contains([]string{"debug", "info", "warn", "error"}, f.logLevel):
		return fmt.Sprintf("--log-level must be debug, info, warn or error, got %q", f.logLevel)
	}
	if err := f.tracing.Check(); err != nil {
		return err.Error()
	}
	return ""
}

// run is the command aalis run.
func (p process) run(ctx context.Context) int {
	f, code, ok := p.runFlags()
	if !ok {
		return code
	}
	ctx, stop := host.UntilSignal(ctx, p.exit)
	defer stop()
	if f.cluster {
		return p.runCluster(ctx, f)
	}
	return p.runLocal(ctx, f)
}

func (p process) runCluster(ctx context.Context, f runFlags) int {
	level := &slog.LevelVar{}
	level.Set(host.ParseLevel(f.logLevel))
	log := host.NewLogger(p.err, level, isTerminal(p.err))
	modules := host.Modules()
	hash, err := host.CatalogHash(modules)
	if err != nil {
		return p.fail(err)
	}
	api, err := kube.InCluster(f.accountDir, p.getenv)
	if f.apiURL != "" {
		api, err = kube.Config{URL: f.apiURL, TokenFile: f.accountDir + "/token", CAFile: f.accountDir + "/ca.crt"}, nil
	}
	if err != nil {
		return p.fail(err)
	}
	api.UserAgent = "aalis/" + buildVersion()
	err = host.RunCluster(ctx, host.ClusterOptions{
		Modules: modules, Version: buildVersion(), CatalogHash: hash,
		Namespace: p.getenv("AALIS_NAMESPACE"), Instance: p.getenv("AALIS_INSTANCE"),
		PodName: p.getenv("AALIS_POD_NAME"), PodUID: p.getenv("AALIS_POD_UID"),
		InstanceUID: p.getenv("AALIS_INSTANCE_UID"), Cluster: p.getenv("AALIS_CLUSTER"),
		ConfigDir: f.configDir, SecretsDir: f.secretsDir, DataDir: either(f.dataDir, host.DefaultDataDir),
		Addr: either(f.addr, host.DefaultAddr), Tracing: f.tracing, API: api, Logger: log, Level: level, LogLevel: f.logLevel,
		StartTime: p.started, Now: time.Now,
	})
	if err != nil {
		return p.fail(err)
	}
	return host.ExitOK
}

func (p process) runLocal(ctx context.Context, f runFlags) int {
	level := either(f.logLevel, "warn")
	notes := p.err
	if f.quiet {
		level, notes = either(f.logLevel, "error"), io.Discard
	}
	modules := host.Modules()
	c, err := host.Catalog(modules)
	if err != nil {
		return p.fail(err)
	}
	hash, err := c.Hash()
	if err != nil {
		return p.fail(err)
	}
	named, err := secrets.ParseFlags(f.secrets, p.lookupEnv)
	if err != nil {
		_, _ = fmt.Fprintln(p.err, "aalis:", err)
		return host.ExitUsage
	}
	dataDir := either(f.dataDir, ".aalis")
	personas, err := personasDir(f.personas, dataDir)
	if err != nil {
		_, _ = fmt.Fprintln(p.err, "aalis:", err)
		return host.ExitUsage
	}
	bot := declaration{paths: f.paths, name: f.name, catalog: c, personas: personas}
	err = host.RunLocal(ctx, host.LocalOptions{
		Modules: modules, Version: buildVersion(), CatalogHash: hash,
		Load: bot.load, Dirs: append(bot.dirs(), named.Dirs()...),
		Secrets: secrets.Chain{named, secrets.Env{LookupEnv: p.lookupEnv}},
		DataDir: dataDir, Addr: f.addr, Tracing: f.tracing,
		In: p.in, Out: p.out, Notes: notes, Interactive: host.IsTerminal(p.in) && isTerminal(p.out) && !f.quiet, Once: f.once,
		Logger: host.NewLogger(p.err, host.ParseLevel(level), true), LogLevel: level, Now: time.Now,
	})
	return p.result(err)
}

// personasDir is the directory of persona cards, or nothing: the named one, which must be there, or the usual one if it
// is there.
func personasDir(named, dataDir string) (string, error) {
	dir := either(named, filepath.Join(dataDir, "personas"))
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return dir, nil
	case named == "":
		return "", nil
	case err == nil:
		return "", fmt.Errorf("--personas must name a directory, got the file %s", dir)
	}
	return "", fmt.Errorf("--personas: %w", err)
}

// result turns what RunLocal says into an exit code. A failed answer has been printed already.
func (p process) result(err error) int {
	var wrong *host.DeclarationError
	switch {
	case err == nil:
		return host.ExitOK
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintln(p.err, "aalis: the bot was not started:\n  "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return host.ExitUsage
	case err == console.ErrFailed: //nolint:errorlint // an error that wraps it has more to say
		return host.ExitFailure
	}
	return p.fail(err)
}

func (p process) fail(err error) int {
	_, _ = fmt.Fprintln(p.err, "aalis:", err)
	return host.ExitFailure
}

func either(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && host.IsTerminal(f)
}

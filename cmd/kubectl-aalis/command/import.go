// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/convert"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
)

// importFlags are the flags of kubectl aalis import.
type importFlags struct {
	personas, name, secrets, catalog, format string
	values, strict                           bool
}

func newImport(t tools) *cobra.Command {
	var o importFlags
	cmd := &cobra.Command{
		Use:   "import CONFIG",
		Short: "Turn an aalis.config.yaml and its persona cards into objects",
		Long: `Turn the config file of a bot that runs without Kubernetes, and its persona cards, into the objects that declare the same
bot, and print them. It needs no cluster and no rights.

Each thing that has no place in the objects, or gets another form, is reported as a note: nothing is lost without a word.
Secrets that stand in the config do not get into the objects. --secrets writes a manifest with room for their values to a
file of its own, which only you may read; with --secret-values they are filled in: then keep the file out of Git.`,
		Example: `  kubectl aalis import aalis.config.yaml --personas data/personas -n team-a --secrets secrets.yaml > bot.yaml
  aalis run bot.yaml secrets.yaml
  kubectl apply -f secrets.yaml -f bot.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.importConfig(args[0], cmd.Flags().Changed("namespace"), o)
		},
	}
	cmd.Flags().StringVar(&o.personas, "personas", "", "directory of the persona cards")
	cmd.Flags().StringVar(&o.name, "name", "", "name of the AgentInstance (default: made from that in the config)")
	cmd.Flags().StringVar(&o.secrets, "secrets", "", "new file for the manifest of the Secrets")
	cmd.Flags().BoolVar(&o.values, "secret-values", false, "with --secrets: fill in the values of the config")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "end with exit status 1 if there are notes")
	catalogFlag(cmd, &o.catalog)
	outputFlag(cmd, &o.format)
	return cmd
}

func (t tools) importConfig(path string, namespaced bool, o importFlags) error {
	f, err := output.Parse(o.format)
	if err != nil {
		return err
	}
	if o.values && o.secrets == "" {
		return errors.New("--secret-values needs --secrets, the file to write them to")
	}
	src, err := o.source(path)
	if err != nil {
		return err
	}
	if namespaced {
		if src.Namespace, err = t.namespace(); err != nil {
			return err
		}
	}
	result, err := convert.Convert(src)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.writeSecrets(result, o.secrets); err != nil {
		return err
	}
	if err := output.Documents(t.streams.Out, f, importedObjects(result)); err != nil {
		return err
	}
	for _, n := range result.Notes {
		fmt.Fprintln(t.streams.ErrOut, "note:", output.Clean(n.String()))
	}
	if o.strict && len(result.Notes) > 0 {
		return fmt.Errorf("%d notes", len(result.Notes))
	}
	return nil
}

// source reads the files.
func (o importFlags) source(path string) (convert.Source, error) {
	src := convert.Source{Name: o.name, SecretValues: o.values}
	var err error
	if src.Config, err = os.ReadFile(path); err != nil {
		return src, err
	}
	if src.Catalog, err = readCatalog(o.catalog); err != nil {
		return src, err
	}
	if o.personas == "" {
		return src, nil
	}
	entries, err := os.ReadDir(o.personas)
	if err != nil {
		return src, fmt.Errorf("--personas: %w", err)
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(o.personas, e.Name()))
		if err != nil {
			return src, fmt.Errorf("--personas: %w", err)
		}
		src.Cards = append(src.Cards, convert.Card{Name: strings.TrimSuffix(e.Name(), ext), Data: data})
	}
	return src, nil
}

func importedObjects(r convert.Result) []any {
	var out []any
	for _, o := range r.Plugins {
		out = append(out, o)
	}
	for _, o := range r.Personas {
		out = append(out, o)
	}
	for _, o := range r.ServicePreferences {
		out = append(out, o)
	}
	for _, o := range r.AuthorityPolicies {
		out = append(out, o)
	}
	for _, o := range r.Instances {
		out = append(out, o)
	}
	return out
}

// secretsMode lets only the caller read the file.
const secretsMode = 0o600

// writeSecrets writes the Secrets to a new file. It never writes over one: there may be values in it.
func (t tools) writeSecrets(r convert.Result, path string) error {
	if len(r.Secrets) == 0 || path == "" {
		return nil
	}
	var b bytes.Buffer
	documents := make([]any, 0, len(r.Secrets))
	for _, s := range r.Secrets {
		documents = append(documents, s)
	}
	if err := output.Documents(&b, output.YAML, documents); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, secretsMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--secrets %s: the file is there already; remove it or name another one", path)
	}
	if err != nil {
		return fmt.Errorf("--secrets: %w", err)
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

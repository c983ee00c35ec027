// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry says where spans go, in the words of the flags that the operator and the runtime share. It is pure: the package
// tracing does what it says, and the operator, which only hands it on, does not link that.
package telemetry

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Options of tracing.
type Options struct {
	// Endpoint is the address of the collector, such as http://collector:4318; spans go to /v1/traces below it. Empty switches
	// tracing off.
	Endpoint string
	// Ratio of the traces that are kept, from 0 to 1. A trace that another process has begun is kept if that keeps it.
	Ratio float64
	// Content puts texts of conversations into spans.
	Content bool
	// Agent, Namespace, Pod and Version say whose spans these are.
	Agent, Namespace, Pod, Version string
}

// On tells whether tracing is switched on.
func (o Options) On() bool { return o.Endpoint != "" }

// Check says what is wrong with the options, by the names of the flags.
func (o Options) Check() error {
	var errs []error
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			errs = append(errs, fmt.Errorf("--tracing-endpoint must be an address such as http://collector:4318, got %q", o.Endpoint))
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			errs = append(errs, errors.New("--tracing-endpoint may hold no credentials, no query and no fragment"))
		}
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) { // not a number, too
		errs = append(errs, fmt.Errorf("--tracing-ratio must be from 0 to 1, got %v", o.Ratio))
	}
	if o.Content && o.Endpoint == "" {
		errs = append(errs, errors.New("--tracing-content needs --tracing-endpoint"))
	}
	return errors.Join(errs...)
}

// Address is where spans go.
func (o Options) Address() string { return strings.TrimSuffix(o.Endpoint, "/") + "/v1/traces" }

// Args are the flags that say the same; none if tracing is off.
func (o Options) Args() []string {
	if !o.On() {
		return nil
	}
	out := []string{"--tracing-endpoint=" + o.Endpoint, "--tracing-ratio=" + strconv.FormatFloat(o.Ratio, 'f', -1, 64)}
	if o.Content {
		out = append(out, "--tracing-content")
	}
	return out
}

// Flags adds the flags to a set.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.StringVar(&o.Endpoint, "tracing-endpoint", "", "`address` of an OpenTelemetry collector (OTLP over HTTP), such as http://collector:4318; nothing is traced without it")
	flags.Float64Var(&o.Ratio, "tracing-ratio", 1, "`part` of the traces that are kept, from 0 to 1")
	flags.BoolVar(&o.Content, "tracing-content", false, "put texts of conversations into spans: whoever reads the traces reads them")
}

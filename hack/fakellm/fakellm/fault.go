// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind names what a fault does. README.md describes each.
type Kind string

// The kinds of faults. Kinds that act before the answer replace it; the others change how it is sent.
const (
	KindChunkDelay    Kind = "chunk-delay"    // waits Delay before every streamed chunk
	KindHeaderDelay   Kind = "header-delay"   // waits Delay before the response headers
	KindHang          Kind = "hang"           // sends nothing until the client gives up
	KindRateLimit     Kind = "rate-limit"     // 429 with Retry-After; alias 429
	KindServerError   Kind = "server-error"   // 500; alias 500
	KindUnavailable   Kind = "unavailable"    // 503; alias 503
	KindStatus        Kind = "status"         // any Status from 400 to 599
	KindContentFilter Kind = "content-filter" // 400 with code content_filter
	KindReset         Kind = "reset"          // TCP reset after Chunks chunks
	KindStall         Kind = "stall"          // silence after Chunks chunks until the client gives up
	KindTruncate      Kind = "truncate"       // clean end of body after Chunks chunks
	KindErrorFrame    Kind = "error-frame"    // an error object as a frame after Chunks chunks, then the end
	KindMalformed     Kind = "malformed"      // a frame of broken JSON after Chunks chunks, then the rest
	KindNoDone        Kind = "no-done"        // everything but the closing [DONE]
	KindNoUsage       Kind = "no-usage"       // no usage, even when asked for
	KindSlowBody      Kind = "slow-body"      // the body byte by byte, Delay apart
	KindEmpty         Kind = "empty"          // an answer with no text and no calls
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		KindChunkDelay, KindHeaderDelay, KindHang, KindRateLimit, KindServerError, KindUnavailable, KindStatus,
		KindContentFilter, KindReset, KindStall, KindTruncate, KindErrorFrame, KindMalformed, KindNoDone, KindNoUsage,
		KindSlowBody, KindEmpty,
	}
}

// Bounds of fault settings.
const (
	maxFaultNumber     = 1_000_000
	maxFaultDelay      = time.Hour
	maxFaultRetryAfter = 86_400
	minFaultStatus     = 400
	maxFaultStatus     = 599
)

// Fault is one thing that goes wrong on purpose. Zero fields take the defaults of its Kind.
type Fault struct {
	// ID is given by the server ("f1", "f2", ...).
	ID string `json:"id,omitempty"`
	// Kind says what happens. Required.
	Kind Kind `json:"kind"`

	// API limits the fault to "chat" (the default), "embeddings" or "models"; "*" is all three.
	API string `json:"api,omitempty"`
	// Model limits the fault to one model id, with or without the faults named in it. Empty means any.
	Model string `json:"model,omitempty"`
	// Match limits the fault to requests whose last user text contains it. Empty means any.
	Match string `json:"match,omitempty"`
	// KeyHash limits the fault to one key, as the ledger shows it. Empty means any.
	KeyHash string `json:"keyHash,omitempty"`

	// Skip lets that many matching requests pass first. At most 1,000,000.
	Skip int `json:"skip,omitempty"`
	// Count is how many matching requests the fault hits. Zero means all. At most 1,000,000.
	Count int `json:"count,omitempty"`

	// Delay is the wait of the delay kinds: chunk-delay (default 50ms), header-delay (1s), slow-body (1s). At most 1h.
	Delay Duration `json:"delay,omitempty"`
	// Chunks is how many chunks are sent before the fault acts. Nil means 1. At most 1,000,000.
	Chunks *int `json:"chunks,omitempty"`
	// RetryAfter is the header's value in seconds; 0 sends none. Nil means 1 for rate-limit and none elsewhere. At most 86400.
	RetryAfter *int `json:"retryAfter,omitempty"`
	// Status is the status code of kind status, 400 to 599.
	Status int `json:"status,omitempty"`
	// Message replaces the text of the error object.
	Message string `json:"message,omitempty"`
}

// Duration is a time.Duration written as text, such as "50ms".
type Duration time.Duration

// MarshalText writes the duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration: use a number with ms, s or m", b)
	}
	*d = Duration(v)
	return nil
}

// faultSettings are the optional settings a kind understands.
type faultSettings struct {
	delay      time.Duration // the default; 0 means that the kind takes none
	chunks     bool
	retryAfter bool
	status     bool
	message    bool
}

func (k Kind) settings() faultSettings {
	switch k {
	case KindChunkDelay:
		return faultSettings{delay: 50 * time.Millisecond}
	case KindHeaderDelay, KindSlowBody:
		return faultSettings{delay: time.Second}
	case KindRateLimit, KindServerError, KindUnavailable:
		return faultSettings{retryAfter: true, message: true}
	case KindStatus:
		return faultSettings{retryAfter: true, status: true, message: true}
	case KindContentFilter:
		return faultSettings{message: true}
	case KindReset, KindStall, KindTruncate, KindMalformed:
		return faultSettings{chunks: true}
	case KindErrorFrame:
		return faultSettings{chunks: true, message: true}
	default:
		return faultSettings{}
	}
}

// parseKind accepts a kind or its alias.
func parseKind(s string) (Kind, error) {
	switch s {
	case "429":
		return KindRateLimit, nil
	case "500":
		return KindServerError, nil
	case "503":
		return KindUnavailable, nil
	}
	if k := Kind(s); slices.Contains(Kinds(), k) {
		return k, nil
	}
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return "", fmt.Errorf("kind %q is not known: use %s", s, strings.Join(names, ", "))
}

// normalise resolves aliases, checks every field and fills in defaults.
func (f Fault) normalise() (Fault, error) {
	kind, err := parseKind(string(f.Kind))
	if err != nil {
		return f, err
	}
	f.Kind = kind
	if f.API == "" {
		f.API = apiChat
	}
	if !slices.Contains([]string{apiChat, apiEmbeddings, apiModels, "*"}, f.API) {
		return f, fmt.Errorf("api %q is not allowed: use chat, embeddings, models or *", f.API)
	}
	if err := errors.Join(f.checkNumbers(), f.checkSettings()); err != nil {
		return f, err
	}
	set := kind.settings()
	if f.Delay == 0 {
		f.Delay = Duration(set.delay)
	}
	if set.chunks && f.Chunks == nil {
		f.Chunks = new(1)
	}
	if kind == KindRateLimit && f.RetryAfter == nil {
		f.RetryAfter = new(1)
	}
	return f, nil
}

func (f Fault) checkNumbers() error {
	if f.Delay < 0 || f.Delay > Duration(maxFaultDelay) {
		return fmt.Errorf("delay is %s: allowed is 0 to %s", time.Duration(f.Delay), maxFaultDelay)
	}
	numbers := []struct {
		name  string
		value int
		max   int
	}{
		{"skip", f.Skip, maxFaultNumber},
		{"count", f.Count, maxFaultNumber},
		{"chunks", deref(f.Chunks), maxFaultNumber},
		{"retryAfter", deref(f.RetryAfter), maxFaultRetryAfter},
	}
	for _, n := range numbers {
		if n.value < 0 || n.value > n.max {
			return fmt.Errorf("%s is %d: allowed is 0 to %d", n.name, n.value, n.max)
		}
	}
	if f.Kind == KindStatus && (f.Status < minFaultStatus || f.Status > maxFaultStatus) {
		return fmt.Errorf("status is %d: kind status needs %d to %d", f.Status, minFaultStatus, maxFaultStatus)
	}
	return nil
}

// checkSettings refuses settings that the kind would ignore.
func (f Fault) checkSettings() error {
	set := f.Kind.settings()
	given := []struct {
		name    string
		set, ok bool
	}{
		{"delay", f.Delay != 0, set.delay != 0},
		{"chunks", f.Chunks != nil, set.chunks},
		{"retryAfter", f.RetryAfter != nil, set.retryAfter},
		{"status", f.Status != 0, set.status},
		{"message", f.Message != "", set.message},
	}
	for _, g := range given {
		if g.set && !g.ok {
			return fmt.Errorf("%s is not allowed with kind %s", g.name, f.Kind)
		}
	}
	return nil
}

// set gives one setting by its name in a directive or a model id.
func (f *Fault) set(name, value string) error {
	if name == "delay" {
		return f.Delay.UnmarshalText([]byte(value))
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%s=%q is not a whole number", name, value)
	}
	switch name {
	case "count":
		f.Count = n
	case "skip":
		f.Skip = n
	case "chunks":
		f.Chunks = &n
	case "retry-after":
		f.RetryAfter = &n
	case "status":
		f.Status = n
	default:
		return fmt.Errorf("setting %q is not known: use count, skip, delay, chunks, retry-after or status", name)
	}
	return nil
}

// failure returns the error object of the kinds that replace the answer, else nil.
func (f Fault) failure() *apiError {
	e := &apiError{retryAfter: deref(f.RetryAfter), message: f.Message}
	switch f.Kind {
	case KindRateLimit:
		e.status, e.kind, e.code = 429, typeRateLimit, "rate_limit_exceeded"
	case KindServerError:
		e.status, e.kind = 500, typeServer
	case KindUnavailable:
		e.status, e.kind, e.code = 503, typeServer, "overloaded"
	case KindStatus:
		e.status, e.kind = f.Status, typeServer
		if f.Status < 500 {
			e.kind = typeInvalid
		}
	case KindContentFilter:
		e.status, e.kind, e.param, e.code = 400, typeInvalid, "prompt", "content_filter"
	default:
		return nil
	}
	if e.message == "" {
		e.message = fmt.Sprintf("this request failed on purpose (fault %s)", f.Kind)
	}
	return e
}

func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// parseModel splits a model id "base@kind:key=value,key=value@kind" into its base and its faults.
func parseModel(id string) (base string, faults []Fault, err error) {
	parts := strings.Split(id, "@")
	for _, part := range parts[1:] {
		name, settings, _ := strings.Cut(part, ":")
		f := Fault{Kind: Kind(name)}
		for setting := range strings.SplitSeq(settings, ",") {
			if setting == "" {
				continue
			}
			key, value, _ := strings.Cut(setting, "=")
			if err := f.set(key, value); err != nil {
				return "", nil, err
			}
		}
		if f, err = f.normalise(); err != nil {
			return "", nil, err
		}
		faults = append(faults, f)
	}
	return parts[0], faults, nil
}

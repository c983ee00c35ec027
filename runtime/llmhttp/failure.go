// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// maxLogged bounds a server's text in the log, in bytes before the cut is moved to a character.
const maxLogged = 1024

// failure says in a word why a call failed.
type failure string

const (
	failFiltered    failure = "filtered"
	failKey         failure = "key"
	failNotFound    failure = "not-found"
	failTooLong     failure = "too-long"
	failRefused     failure = "refused"
	failImages      failure = "images"
	failQuota       failure = "quota"
	failBusy        failure = "busy"
	failServer      failure = "server"
	failUnreachable failure = "unreachable"
	failForbidden   failure = "forbidden"
	failTimeout     failure = "timeout"
	failStopped     failure = "stopped"
	failBroken      failure = "broken"
	failNonsense    failure = "nonsense"
)

// cause is the failure as the contract names it.
func (f failure) cause() llm.Cause {
	switch f {
	case failFiltered:
		return llm.ContentFiltered
	case failKey, failForbidden:
		return llm.Unauthorized
	case failNotFound, failTooLong, failRefused, failImages:
		return llm.InvalidRequest
	case failQuota, failBusy:
		return llm.RateLimited
	case failTimeout:
		return llm.Timeout
	case failStopped:
		return llm.Cancelled
	default:
		return llm.Unavailable
	}
}

// temporary tells whether the same call may succeed a little later.
func (f failure) temporary() bool {
	switch f {
	case failBusy, failServer, failUnreachable, failBroken, failNonsense:
		return true
	default:
		return false
	}
}

// What a Backend returns, wrapped or not, for what is no StatusError and no failure of the connection.
var (
	// ErrNonsense is an answer that is none of the protocol.
	ErrNonsense = errors.New("the server's answer makes no sense")
	// ErrBroken is an answer that ended too early.
	ErrBroken = errors.New("the server's answer ended too early")
	// ErrFiltered is an answer that the server's content filter ended.
	ErrFiltered = errors.New("the server's content filter ended the answer")
	// ErrImages is a request none of whose images can be read, although they are required.
	ErrImages = errors.New("none of the images can be read")
)

// Causes with which a call's context ends.
var (
	errTimedOut = errors.New("the call took too long")
	errStopping = errors.New("the plugin is being stopped")
)

// consumerError is an error of the receiver of chunks, which goes back to it as it is.
type consumerError struct{ err error }

func (e *consumerError) Error() string { return e.err.Error() }

// explain turns what went wrong into an error for the caller. ctx is the call's own; that of the caller has not ended.
func (p *Provider) explain(ctx context.Context, id string, handedOn bool, err error) (*llm.Error, failure) {
	kind := kindOf(ctx, err)
	out := &llm.Error{Cause: kind.cause(), BeforeFirstByte: !handedOn, Err: err}
	if status, ok := errors.AsType[*StatusError](err); ok {
		out.Status = status.Status
		out.RetryAfter = parseRetryAfter(status.retryAfter, p.k.Now())
	}
	out.Text = p.texts().describe(kind, out.Status, id, p.backend.Common().Timeout)
	return out, kind
}

func kindOf(ctx context.Context, err error) failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimedOut):
		return failTimeout
	case errors.Is(cause, errStopping):
		return failStopped
	}
	for sentinel, kind := range map[error]failure{
		netx.ErrAddressRefused: failForbidden, ErrFiltered: failFiltered, ErrBroken: failBroken, ErrNonsense: failNonsense,
		ErrImages: failImages,
	} {
		if errors.Is(err, sentinel) {
			return kind
		}
	}
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.kind()
	}
	return kindOfTransport(err)
}

// MayPass tells whether an error of an attempt may be gone a little later: the connection or the server failed.
func MayPass(err error) bool {
	switch kindOf(context.Background(), err) {
	case failServer, failUnreachable, failBroken:
		return true
	default:
		return false
	}
}

// statusKinds are the statuses with a meaning of their own. Others are the server's fault from 500 on, else ours.
var statusKinds = map[int]failure{
	0:                                failServer, // an error in the middle of a stream
	http.StatusUnauthorized:          failKey,
	http.StatusPaymentRequired:       failQuota,
	http.StatusForbidden:             failKey,
	http.StatusNotFound:              failNotFound,
	http.StatusRequestTimeout:        failServer,
	http.StatusRequestEntityTooLarge: failTooLong,
	http.StatusTooEarly:              failServer,
	http.StatusTooManyRequests:       failBusy,
	http.StatusNotImplemented:        failRefused,
}

// kind reads an answer's status and what its body says.
func (e *StatusError) kind() failure {
	switch {
	case (e.Status == http.StatusBadRequest || e.Status == 0) && contains(e.Body,
		"content exists risk", "content_filter", "content_policy", "sensitive content", "risk control"):
		return failFiltered
	case contains(e.Body, "context_length_exceeded"):
		return failTooLong
	case e.Status == http.StatusTooManyRequests && contains(e.Body, "insufficient_quota"):
		return failQuota
	}
	if kind, ok := statusKinds[e.Status]; ok {
		return kind
	}
	if e.Status >= http.StatusInternalServerError {
		return failServer
	}
	return failRefused
}

func contains(body string, parts ...string) bool {
	body = strings.ToLower(body)
	for _, part := range parts {
		if strings.Contains(body, part) {
			return true
		}
	}
	return false
}

// kindOfTransport tells a connection that may work later from one that will not.
func kindOfTransport(err error) failure {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	if errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) {
		return failForbidden
	}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return failNonsense
	}
	var transport *transportError
	if errors.As(err, &transport) {
		return failUnreachable
	}
	return failBroken
}

// parseRetryAfter reads seconds or a date; anything else, and what is past, is 0.
func parseRetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		if seconds > 0 && seconds < 1<<31 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// ForLog is an error as the log may show it: without the key and not too long.
func (e *Endpoint) ForLog(err error) string {
	text := e.Redact(err.Error())
	if len(text) > maxLogged {
		text = strings.ToValidUTF8(text[:maxLogged], "") + "…"
	}
	return text
}

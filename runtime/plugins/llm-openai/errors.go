// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

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

// CallError is a failed call. Its text is short and fit for a chat; the details are in the log only.
type CallError struct {
	kind failure
	// Status is the HTTP status of the answer, or 0.
	Status int
	text   string
	// retryAfter is what the server asked for, or 0.
	retryAfter time.Duration
}

// Error gives the text for the chat.
func (e *CallError) Error() string { return e.text }

// temporary tells whether the same call may succeed a little later.
func (e *CallError) temporary() bool {
	switch e.kind {
	case failBusy, failServer, failUnreachable, failBroken, failNonsense:
		return true
	default:
		return false
	}
}

// consumerError is an error of the receiver of chunks, which goes back to it as it is.
type consumerError struct{ err error }

func (e *consumerError) Error() string { return e.err.Error() }

// Causes with which a call's context ends.
var (
	errTimedOut = errors.New("the call took too long")
	errStopping = errors.New("the plugin is being stopped")
)

// errNonsense is an answer that is no chat completion at all, errBroken one that ended too early.
var (
	errNonsense = errors.New("the server's answer is no chat completion")
	errBroken   = errors.New("the server's answer ended too early")
	errFiltered = errors.New("the server's content filter ended the answer")
)

// explain turns what went wrong into an error for the caller. ctx is the call's own; that of the caller has not ended.
func (p *provider) explain(ctx context.Context, id string, err error) *CallError {
	out := &CallError{kind: kindOf(ctx, err)}
	if status, ok := errors.AsType[*statusError](err); ok {
		out.Status = status.status
		out.retryAfter = parseRetryAfter(status.retryAfter, p.k.Now())
	}
	out.text = p.texts().describe(out, id, p.set.Load().timeout)
	return out
}

func kindOf(ctx context.Context, err error) failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimedOut):
		return failTimeout
	case errors.Is(cause, errStopping):
		return failStopped
	case errors.Is(err, netx.ErrAddressRefused):
		return failForbidden
	case errors.Is(err, errFiltered):
		return failFiltered
	case errors.Is(err, errBroken):
		return failBroken
	case errors.Is(err, errNonsense):
		return failNonsense
	case isRefusal(err):
		return failRefused
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.kind()
	}
	return kindOfTransport(err)
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
func (e *statusError) kind() failure {
	switch {
	case (e.status == http.StatusBadRequest || e.status == 0) && contains(e.body,
		"content exists risk", "content_filter", "content_policy", "sensitive content", "risk control"):
		return failFiltered
	case contains(e.body, "context_length_exceeded"):
		return failTooLong
	case e.status == http.StatusTooManyRequests && contains(e.body, "insufficient_quota"):
		return failQuota
	}
	if kind, ok := statusKinds[e.status]; ok {
		return kind
	}
	if e.status >= http.StatusInternalServerError {
		return failServer
	}
	return failRefused
}

// isRefusal tells the errors with which the client library itself refuses a request.
func isRefusal(err error) bool {
	for _, refusal := range []error{
		openai.ErrChatCompletionInvalidModel, openai.ErrReasoningEffortUnsupported, openai.ErrReasoningToolsRequireResponses,
		openai.ErrReasoningSamplingUnsupported, openai.ErrReasoningModelMaxTokensDeprecated,
		openai.ErrReasoningModelLimitationsOther, openai.ErrContentFieldsMisused,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
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

// forLog is an error as the log may show it: without the key and not too long.
func (p *provider) forLog(err error) string {
	text := p.ep.redact(err.Error())
	if len(text) > maxLogged {
		text = strings.ToValidUTF8(text[:maxLogged], "") + "…"
	}
	return text
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// maxReasonUnits bounds what a chat user sees of a provider's own words, in UTF-16 code units.
const maxReasonUnits = 200

// explain words a failure for the chat user. What a provider says is its own text, made for that, but nothing relies on
// it: it is cut, and what looks like a credential is taken out. All else is for the log only.
func explain(err error, lang i18n.Language) string {
	failed, isCall := errors.AsType[*callError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return i18n.ModelTimedOut().Failure(lang)
	case !isCall || isPanic(err):
		return i18n.InternalError().Failure(lang)
	}
	reason := strings.Join(strings.Fields(redact(failed.err.Error())), " ")
	if reason == "" {
		return i18n.InternalError().Failure(lang)
	}
	return i18n.Failure(i18n.Cut(reason, maxReasonUnits))
}

const redacted = "***"

var (
	// credential finds keys and tokens by their usual prefixes, and what follows the name of one.
	credential = regexp.MustCompile(
		`(?i)\b(?:sk|pk|rk|key|token|ghp|xox[a-z])[-_][A-Za-z0-9_\-.*]{6,}|` +
			`\b(?:bearer|basic)\s+[A-Za-z0-9_\-.~+/=]{6,}|` +
			`\b(?:api[-_ ]?key|access[-_ ]?token|secret|password|authorization)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?[^\s"',;]+`)
	// userinfo and query are the parts of an address that can hold one.
	userinfo = regexp.MustCompile(`(://)[^/\s@]+@`)
	query    = regexp.MustCompile(`(https?://[^\s?"']+\?)[^\s"']+`)
)

func redact(s string) string {
	s = userinfo.ReplaceAllString(s, "${1}"+redacted+"@")
	s = query.ReplaceAllString(s, "${1}"+redacted)
	return credential.ReplaceAllString(s, redacted)
}

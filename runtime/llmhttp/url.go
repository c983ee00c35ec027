// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// version finds the segment of a base URL that names the API's version.
var version = regexp.MustCompile(`^v\d+[a-z0-9]*$`)

// WithVersion appends /v1 to a base URL unless its path names a version already.
func WithVersion(u *url.URL) *url.URL {
	path := strings.TrimRight(u.Path, "/")
	if !slices.ContainsFunc(strings.Split(path, "/"), version.MatchString) {
		path += "/v1"
	}
	return withPath(u, path)
}

// WithoutVersion takes /v1 off the end of a base URL, for servers whose paths bring it along.
func WithoutVersion(u *url.URL) *url.URL {
	return withPath(u, strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"))
}

func withPath(u *url.URL, path string) *url.URL {
	out := *u
	out.Path, out.RawPath = path, ""
	return &out
}

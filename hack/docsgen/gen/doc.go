// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gen turns CRDs and the module catalog into reference documents in Markdown.
//
// It is called by the command docsgen. The same input gives the same bytes. It never adds anything that is not in its
// input: what a page should say better is to be said better in the field's own comment.
package gen

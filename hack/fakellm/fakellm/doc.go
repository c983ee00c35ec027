// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakellm is an OpenAI-compatible model server whose answers are computed from the request.
//
// Purpose: demos, tests and benchmarks need a model that answers at once, the same way every time, shows what it was
// asked, counts what it billed and fails on request. The wire format is that of the public chat completions, models and
// embeddings endpoints; README.md one folder up is the full reference of answers, directives, faults and the admin API.
//
// Who calls it: hack/fakellm (the command), Go tests through net/http/httptest, and benchmarks.
//
// What it never does: it starts no goroutine, opens no connection, reads no environment and keeps nothing on disk. All
// it remembers (requests, totals, prompt prefixes, fault counters) is bounded and lives in one Server.
package fakellm

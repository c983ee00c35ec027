// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokenizer counts tokens as the models of OpenAI do, with the public tables of the encodings o200k_base and
// cl100k_base that are part of the binary.
//
// Plugins that offer such models make a Pool and hand its counters out through contract/tokens. A table is read when
// something is counted with it for the first time, in the background; until then the counter answers with the estimate.
// The tables take little room in memory, since only what counting needs is kept, and all counters of a process share
// them. The package never encodes: it knows how many tokens a text has, not which.
package tokenizer

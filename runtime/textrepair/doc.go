// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package textrepair mends what models write: JSON objects with the usual mistakes, markers of tool calls that leaked
// into the text, and tables whose separator row does not fit. Personas, the agent and the providers call it on text of a
// model.
//
// Everything is pure, takes time linear in the text, and accepts any text, invalid UTF-8 included. It never decides what a
// reply means: what fits no rule is given back as it came.
package textrepair

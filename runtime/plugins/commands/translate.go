// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// translated are the texts of a declaration in a language, and where it has none, its own.
func translated(l *layer, lang i18n.Language) commands.Texts {
	t := l.Translations[string(lang)]
	if t.Description == "" {
		t.Description = l.Description
	}
	if t.Usage == "" {
		t.Usage = l.Usage
	}
	return t
}

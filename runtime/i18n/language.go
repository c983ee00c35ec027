// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "github.com/aalis-dev/aalis-operator/runtime/kernel"

// Language is a BCP 47 tag of a language that the bot speaks.
type Language string

// The languages. English is what an unset or unknown Language means.
const (
	English Language = "en"
	Chinese Language = "zh-CN"
)

// Setting is the top-level config key that carries the language of the bot.
var Setting = kernel.NewSetting[Language]("language")

// Of is the language of the bot that a context belongs to.
func Of(k *kernel.Context) Language {
	l, present, err := Setting.Get(k)
	if err != nil || !present {
		return English
	}
	return l.known()
}

func (l Language) known() Language {
	if l == Chinese {
		return Chinese
	}
	return English
}

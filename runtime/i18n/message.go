// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import (
	"strconv"
	"strings"
)

// Message is a text in one of its meanings: which one, and what fills its placeholders. Values are made by the
// functions of this package, one for each ID, so that no placeholder can be forgotten or misspelt.
type Message struct {
	id   ID
	args []string // name, value, name, value
}

// ID returns the id of the message.
func (m Message) ID() ID { return m.id }

// In writes the message in a language.
func (m Message) In(l Language) string {
	text := catalog[m.id].in(l)
	if len(m.args) == 0 {
		return text
	}
	pairs := make([]string, len(m.args))
	for i := 0; i < len(m.args); i += 2 {
		pairs[i], pairs[i+1] = "{"+m.args[i]+"}", m.args[i+1]
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// The tags before what the bot says for itself. Platforms and stored history know them: exact in every language.
const (
	tagSystem = "[系统] "
	tagError  = "[错误] "
)

// Notice writes the message as a system notice.
func (m Message) Notice(l Language) string { return Notice(m.In(l)) }

// Failure writes the message as an error.
func (m Message) Failure(l Language) string { return Failure(m.In(l)) }

// Notice puts the tag of a system notice before a text that is in the bot's language already.
func Notice(text string) string { return tagSystem + text }

// Failure puts the tag of an error before a text that is in the bot's language already.
func Failure(text string) string { return tagError + text }

// Busy says that a message was refused because limit others are being answered.
func Busy(limit int) Message {
	return Message{id: idBusy, args: []string{"limit", strconv.Itoa(limit)}}
}

// Stopping says that a message was refused because the bot or a part of it stops or restarts.
func Stopping() Message { return Message{id: idStopping} }

// Interrupted says that an answer was cut off by a stop.
func Interrupted() Message { return Message{id: idInterrupted} }

// NoAgent says that nothing answers messages in this bot.
func NoAgent() Message { return Message{id: idNoAgent} }

// NoModel says that the bot has no chat model at all.
func NoModel() Message { return Message{id: idNoModel} }

// NoChatModel says that the bot has count models and none of them can chat.
func NoChatModel(count int) Message {
	return Message{id: idNoChatModel, args: []string{"count", strconv.Itoa(count)}}
}

// ModelNotFound says that the configured model is not there while no other chat model is either.
func ModelNotFound(wanted string) Message {
	return Message{id: idModelNotFound, args: []string{"wanted", wanted}}
}

// ModelNotAmong says that the configured model is not among the available ones.
func ModelNotAmong(wanted, available string) Message {
	return Message{id: idModelNotAmong, args: []string{"wanted", wanted, "available", available}}
}

// ModelNotAmongMany is ModelNotAmong where only some of total available ones are listed.
func ModelNotAmongMany(wanted, available string, total int) Message {
	return Message{id: idModelNotAmongMany, args: []string{
		"wanted", wanted, "available", available, "total", strconv.Itoa(total),
	}}
}

// ModelTimedOut says that a model did not answer in time.
func ModelTimedOut() Message { return Message{id: idModelTimedOut} }

// InternalError says that something went wrong inside the bot.
func InternalError() Message { return Message{id: idInternalError} }

// NoAnswer says that a model was asked and said nothing.
func NoAnswer() Message { return Message{id: idNoAnswer} }

// ToolLimit says that a model had nothing to say after limit rounds of tool calls, and gets no more.
func ToolLimit(limit int) Message {
	return Message{id: idToolLimit, args: []string{"limit", strconv.Itoa(limit)}}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// negativeNumber is a value and not an option, unless the command declares an option of that name.
var negativeNumber = regexp.MustCompile(`^-(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)

// bound is what the tokens of a command line mean to a command.
type bound struct {
	args    map[string]any
	options map[string]any
}

// binder reads tokens for one command.
type binder struct {
	args       []argument
	options    []option
	positional []string
	given      map[string]any
}

// bind reads the tokens behind the name of a command. What is wrong with them is told to who gave the command.
func bind(args []argument, options []option, tokens []string) (bound, *i18n.Message) {
	b := &binder{args: args, options: options, given: map[string]any{}}
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if t == "--" {
			b.positional = append(b.positional, tokens[i+1:]...)
			break
		}
		if !b.isOption(t) {
			b.positional = append(b.positional, t)
			i++
			continue
		}
		used, problem := b.option(t, tokens[i+1:])
		if problem != nil {
			return bound{}, problem
		}
		i += 1 + used
	}
	values, problem := b.arguments()
	if problem != nil {
		return bound{}, problem
	}
	if problem := b.complete(); problem != nil {
		return bound{}, problem
	}
	return bound{args: values, options: b.given}, nil
}

func (b *binder) isOption(t string) bool {
	if len(t) < 2 || t[0] != '-' {
		return false
	}
	return !negativeNumber.MatchString(t) || b.find(t) != nil
}

func (b *binder) find(name string) *option {
	for i := range b.options {
		if slices.Contains(b.options[i].names, name) {
			return &b.options[i]
		}
	}
	return nil
}

// option reads one option and says how many of the tokens behind it belong to it.
func (b *binder) option(t string, following []string) (used int, problem *i18n.Message) {
	if !strings.HasPrefix(t, "--") {
		return b.short(t, following)
	}
	name, value, has := strings.Cut(t, "=")
	o := b.find(name)
	switch {
	case o == nil:
		return 0, b.no(t, name, has)
	case has:
		return 0, b.set(o, name, value)
	case o.mode == needsValue:
		return b.next(o, name, following)
	}
	b.given[o.name] = true
	return 0, nil
}

// short reads -x. One that may have a value takes the next token whatever it is.
func (b *binder) short(t string, following []string) (int, *i18n.Message) {
	o := b.find(t)
	switch {
	case o == nil:
		return 0, b.unknown(t)
	case o.mode == noValue, o.mode == mayHaveValue && len(following) == 0:
		b.given[o.name] = true
		return 0, nil
	}
	return b.next(o, t, following)
}

func (b *binder) next(o *option, name string, following []string) (int, *i18n.Message) {
	if len(following) == 0 {
		return 0, wrong(i18n.OptionValue(name))
	}
	return 1, b.set(o, name, following[0])
}

// no reads --no-name, which turns a flag off, or says that there is no such option.
func (b *binder) no(t, name string, has bool) *i18n.Message {
	if positive, ok := strings.CutPrefix(name, "--no-"); ok && !has {
		if o := b.find("--" + positive); o != nil && o.flag() {
			b.given[o.name] = false
			return nil
		}
	}
	if has {
		return b.unknown(name)
	}
	return b.unknown(t)
}

func (b *binder) unknown(name string) *i18n.Message {
	var all []string
	for _, o := range b.options {
		all = append(all, o.names...)
	}
	name = shown(name)
	if near := similar(name, all); len(near) > 0 {
		return wrong(i18n.OptionUnknownNear(name, strings.Join(near, ", ")))
	}
	return wrong(i18n.OptionUnknown(name))
}

// set gives an option a value.
func (b *binder) set(o *option, name, value string) *i18n.Message {
	switch o.kind {
	case typeNumber:
		n, ok := number(value)
		if !ok {
			return wrong(i18n.OptionNumber(name, shown(value)))
		}
		b.given[o.name] = n
	case typeBoolean:
		v, ok := boolean(value)
		if !ok {
			return wrong(i18n.OptionBoolean(name, shown(value)))
		}
		b.given[o.name] = v
	case typeList:
		return b.add(o, name, value)
	default:
		if problem := chosen(o, name, value); problem != nil {
			return problem
		}
		b.given[o.name] = value
	}
	return nil
}

// add puts the elements of a value to those that came before.
func (b *binder) add(o *option, name, value string) *i18n.Message {
	list, _ := b.given[o.name].([]string)
	for v := range strings.SplitSeq(value, ",") {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if problem := chosen(o, name, v); problem != nil {
			return problem
		}
		list = append(list, v)
	}
	b.given[o.name] = list
	return nil
}

func chosen(o *option, name, value string) *i18n.Message {
	if len(o.Choices) == 0 || slices.Contains(o.Choices, value) {
		return nil
	}
	return wrong(i18n.OptionChoice(name, strings.Join(o.Choices, ", "), shown(value)))
}

// arguments gives the positional tokens to the declared arguments. Those beyond are ignored.
func (b *binder) arguments() (map[string]any, *i18n.Message) {
	values := map[string]any{}
	rest := b.positional
	for _, a := range b.args {
		if len(rest) == 0 {
			if a.required {
				return nil, wrong(i18n.ArgMissing(a.name))
			}
			continue
		}
		t := rest[0]
		rest = rest[1:]
		switch a.kind {
		case typeText:
			values[a.name] = strings.Join(append([]string{t}, rest...), " ")
			rest = nil
		case typeNumber:
			n, ok := number(t)
			if !ok {
				return nil, wrong(i18n.ArgNumber(a.name, shown(t)))
			}
			values[a.name] = n
		case typeBoolean:
			v, ok := boolean(t)
			if !ok {
				return nil, wrong(i18n.ArgBoolean(a.name, shown(t)))
			}
			values[a.name] = v
		default:
			values[a.name] = t
		}
	}
	return values, nil
}

// complete fills in defaults and looks for what must be given.
func (b *binder) complete() *i18n.Message {
	for _, o := range b.options {
		if _, ok := b.given[o.name]; ok {
			continue
		}
		switch {
		case o.Default != nil:
			b.given[o.name] = o.Default
		case o.Required:
			return wrong(i18n.OptionMissing(o.names[len(o.names)-1]))
		}
	}
	return nil
}

// number reads a finite decimal number.
func number(s string) (float64, bool) {
	if strings.ContainsAny(s, "xX_pP") {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

func boolean(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

func wrong(m i18n.Message) *i18n.Message { return &m }

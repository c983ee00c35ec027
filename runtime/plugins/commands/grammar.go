// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
)

// segment is one part of a command's dotted name.
var segment = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// valueType is the type of an argument or of the value of an option.
type valueType string

const (
	typeString  valueType = "string"
	typeNumber  valueType = "number"
	typeBoolean valueType = "boolean"
	typeText    valueType = "text"     // arguments only: all that is left
	typeList    valueType = "string[]" // options only: may be given more than once, and split by commas
)

// argument is a declared positional argument.
type argument struct {
	name     string
	kind     valueType
	required bool
}

func (a argument) String() string { return bracketed(a.name, a.kind, a.required) }

// bracketed writes an argument the way it is declared; the type is left out where it goes without saying.
func bracketed(name string, kind valueType, required bool) string {
	if kind != typeString {
		name += ":" + string(kind)
	}
	if required {
		return "<" + name + ">"
	}
	return "[" + name + "]"
}

// valueMode says whether an option takes a value.
type valueMode int

const (
	noValue valueMode = iota
	mayHaveValue
	needsValue
)

// option is a declared option.
type option struct {
	commands.Option
	name  string   // the long name without dashes, or the short one if there is no other
	names []string // with dashes, as declared
	mode  valueMode
	kind  valueType
	value string // what the value is called
}

// flag tells whether the option is given or not, and nothing else.
func (o option) flag() bool { return o.kind == typeBoolean }

// String writes the option the way it is declared.
func (o option) String() string {
	s := strings.Join(o.names, ", ")
	if o.mode == noValue {
		return s
	}
	return s + " " + bracketed(o.value, o.kind, o.mode == needsValue)
}

// parsePath reads the dotted name of a command.
func parsePath(name string) ([]string, error) {
	parts := strings.Split(name, ".")
	for _, p := range parts {
		if !segment.MatchString(p) {
			return nil, fmt.Errorf(
				"name %q: each part must be lower-case letters, digits and -, beginning with a letter, got %q", name, p)
		}
	}
	return parts, nil
}

// parseDeclaration reads "name <required:type> [optional:type]".
func parseDeclaration(declaration string) (name string, args []argument, err error) {
	name, rest := cutWord(declaration)
	if _, err := parsePath(name); err != nil {
		return "", nil, err
	}
	for rest != "" {
		var word string
		if word, rest, err = cutBracket(rest); err != nil {
			return "", nil, fmt.Errorf("arguments of %s: %w", name, err)
		}
		a, err := parseArgument(word)
		if err == nil {
			err = fits(args, a)
		}
		if err != nil {
			return "", nil, fmt.Errorf("argument %s of %s: %w", word, name, err)
		}
		args = append(args, a)
	}
	return name, args, nil
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// cutBracket takes "<…>" or "[…]" off the beginning of a text; square brackets may hold a pair of their own ("[v:string[]]").
func cutBracket(s string) (word, rest string, err error) {
	shut := map[byte]string{'<': ">", '[': "]"}[s[0]]
	if shut == "" {
		return "", "", fmt.Errorf("must be <name:type> or [name:type], got %q", s)
	}
	i := strings.Index(s, shut)
	if shut == "]" && i > 0 && s[i-1] == '[' && i > 1 && i+1 < len(s) && s[i+1] == ']' {
		i++
	}
	if i < 0 {
		return "", "", fmt.Errorf("%q is not closed by %s", s, shut)
	}
	return s[:i+1], strings.TrimSpace(s[i+1:]), nil
}

func parseArgument(word string) (argument, error) {
	name, kind, err := nameAndType(word[1 : len(word)-1])
	if err != nil {
		return argument{}, err
	}
	if kind == typeList {
		return argument{}, errors.New("type must be string, number, boolean or text, got string[]")
	}
	return argument{name: name, kind: kind, required: word[0] == '<'}, nil
}

// fits checks an argument against those before it.
func fits(before []argument, a argument) error {
	for _, b := range before {
		switch {
		case b.name == a.name:
			return errors.New("the name is used twice")
		case b.kind == typeText:
			return fmt.Errorf("nothing may follow %s, which takes all that is left", b)
		case a.required && !b.required:
			return fmt.Errorf("a required argument may not follow the optional %s", b)
		}
	}
	return nil
}

// nameAndType reads "name:type".
func nameAndType(s string) (string, valueType, error) {
	name, kind, typed := strings.Cut(s, ":")
	name = strings.TrimSpace(name)
	if name == "" || strings.ContainsAny(name, "<>[]") {
		return "", "", fmt.Errorf("the name must not be empty or hold brackets, got %q", name)
	}
	t := valueType(strings.TrimSpace(kind))
	if !typed {
		t = typeString
	}
	if !slices.Contains([]valueType{typeString, typeNumber, typeBoolean, typeText, typeList}, t) {
		return "", "", fmt.Errorf("type must be string, number, boolean, text or string[], got %q", kind)
	}
	return name, t, nil
}

// parseOption reads the syntax of an option, "-t, --type <v:string[]>".
func parseOption(o commands.Option) (option, error) {
	out := option{Option: o, kind: typeBoolean}
	names := o.Syntax
	if i := strings.IndexAny(names, "<["); i >= 0 {
		word, rest, err := cutBracket(names[i:])
		if err != nil || rest != "" {
			return option{}, fmt.Errorf("option %q: must end with one value <v:type> or [v:type]", o.Syntax)
		}
		names = names[:i]
		if out.value, out.kind, err = nameAndType(word[1 : len(word)-1]); err != nil {
			return option{}, fmt.Errorf("option %q: %w", o.Syntax, err)
		}
		if out.kind == typeText {
			return option{}, fmt.Errorf("option %q: type must be string, number, boolean or string[], got text", o.Syntax)
		}
		out.mode = mayHaveValue
		if word[0] == '<' {
			out.mode = needsValue
		}
	}
	out.names = strings.FieldsFunc(names, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, n := range out.names {
		if !optionName.MatchString(n) {
			return option{}, fmt.Errorf("option %q: a name must be -x or --name, got %q", o.Syntax, n)
		}
		if long, ok := strings.CutPrefix(n, "--"); ok && (out.name == "" || len(out.name) == 1) {
			out.name = long
		} else if out.name == "" {
			out.name = n[1:]
		}
	}
	if out.name == "" {
		return option{}, fmt.Errorf("option %q: must have a name -x or --name", o.Syntax)
	}
	return out, nil
}

// optionName is -x or --name.
var optionName = regexp.MustCompile(`^(-[A-Za-z]|--[A-Za-z][A-Za-z0-9-]*)$`)

// parseOptions reads all options of a command; no name may be used twice.
func parseOptions(list []commands.Option) ([]option, error) {
	seen := map[string]bool{}
	var out []option
	for _, o := range list {
		parsed, err := parseOption(o)
		if err != nil {
			return nil, err
		}
		for _, n := range parsed.names {
			if seen[n] {
				return nil, fmt.Errorf("option %q: the name %s is used twice", o.Syntax, n)
			}
			seen[n] = true
		}
		out = append(out, parsed)
	}
	return out, nil
}

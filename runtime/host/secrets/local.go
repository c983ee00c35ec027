// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// EnvPrefix begins the names of environment variables that hold Secret keys.
const EnvPrefix = "AALIS_SECRET_"

// Env is a Source of environment variables named by EnvName. Lookup is os.LookupEnv.
type Env struct {
	LookupEnv func(name string) (string, bool)
}

// EnvName is the variable of a key: AALIS_SECRET_<NAME>_<KEY> in capitals, with _ for every character that is no ASCII
// letter or digit.
func EnvName(k Key) string {
	return EnvPrefix + envPart(k.Name) + "_" + envPart(k.Key)
}

func envPart(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, s)
}

// Lookup implements Source.
func (e Env) Lookup(k Key) (string, error) {
	if v, ok := e.LookupEnv(EnvName(k)); ok {
		return v, nil
	}
	return "", ErrAbsent
}

// Flags is a Source of what was named on the command line as name/key=file:PATH or name/key=env:VARIABLE.
type Flags struct {
	refs      map[Key]ref
	lookupEnv func(name string) (string, bool)
}

type ref struct {
	file     string
	variable string
}

// ParseFlags reads command-line values.
func ParseFlags(values []string, lookupEnv func(name string) (string, bool)) (Flags, error) {
	f := Flags{refs: map[Key]ref{}, lookupEnv: lookupEnv}
	for _, v := range values {
		k, r, err := parseFlag(v)
		if err != nil {
			return Flags{}, err
		}
		if _, dup := f.refs[k]; dup {
			return Flags{}, fmt.Errorf("--secret %s/%s: given twice", k.Name, k.Key)
		}
		f.refs[k] = r
	}
	return f, nil
}

// parseFlag never repeats what stands behind the equals sign: people put values there by mistake.
func parseFlag(v string) (Key, ref, error) {
	left, right, ok := strings.Cut(v, "=")
	name, key, slash := strings.Cut(left, "/")
	if !ok || !slash || !plain(name) || !plain(key) {
		return Key{}, ref{}, fmt.Errorf("--secret %q: must be NAME/KEY=file:PATH or NAME/KEY=env:VARIABLE", left)
	}
	k := Key{Name: name, Key: key}
	scheme, rest, _ := strings.Cut(right, ":")
	switch {
	case scheme == "file" && rest != "":
		return k, ref{file: rest}, nil
	case scheme == "env" && rest != "":
		return k, ref{variable: rest}, nil
	}
	return Key{}, ref{}, fmt.Errorf("--secret %s: behind the = must stand file:PATH or env:VARIABLE, never the value itself", left)
}

// Lookup implements Source. What was named and is not there is an error, not absent: no other source is asked.
func (f Flags) Lookup(k Key) (string, error) {
	r, ok := f.refs[k]
	switch {
	case !ok:
		return "", ErrAbsent
	case r.file != "":
		v, err := readFile(r.file)
		if errors.Is(err, ErrAbsent) {
			return "", fmt.Errorf("there is no file %s", r.file)
		}
		return v, err
	}
	if v, ok := f.lookupEnv(r.variable); ok {
		return v, nil
	}
	return "", fmt.Errorf("the environment variable %s is not set", r.variable)
}

// Dirs lists the directories of the files that were named, for a watcher.
func (f Flags) Dirs() []string {
	var dirs []string
	for _, r := range f.refs {
		if r.file != "" {
			dirs = append(dirs, filepath.Dir(r.file))
		}
	}
	return dirs
}

var (
	_ Source = Env{}
	_ Source = Flags{}
)

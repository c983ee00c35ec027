// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is one mistake in one document.
type Problem struct {
	// Document and Line say where the object stands in its file; both count from 1.
	Document, Line int
	// Object is the kind and name, as Plugin/main; empty when the document cannot be read that far.
	Object string
	// Message says what is wrong, with the path of the field where there is one.
	Message string
}

// String is the problem in one line.
func (p Problem) String() string {
	where := fmt.Sprintf("document %d (line %d)", p.Document, p.Line)
	if p.Object != "" {
		where += ": " + p.Object
	}
	return where + ": " + p.Message
}

// problems collects the mistakes of one document.
type problems struct {
	doc    Document
	object string
	found  []Problem
}

func (p *problems) add(format string, args ...any) {
	message := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	p.found = append(p.found, Problem{Document: p.doc.Number, Line: p.doc.Line, Object: p.object, Message: message})
}

func (p *problems) addFields(errs field.ErrorList) {
	for _, err := range errs {
		p.add("%s", err)
	}
}

// addDecoding takes a strict decoder's error apart, so that each unknown field is a problem of its own.
func (p *problems) addDecoding(err error) {
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, e := range strict.Errors() {
			p.add("%s", e)
		}
		return
	}
	p.add("%s", err)
}

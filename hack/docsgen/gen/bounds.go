// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// typeOf names the type of a field in a word or two.
func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		return "any " + s.Type
	case s.Format == "date-time":
		return "time"
	default:
		return s.Type
	}
}

// boundsOf says what a value may be.
func boundsOf(s apiextensionsv1.JSONSchemaProps) string {
	var out []string
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = strings.Trim(string(v.Raw), `"`)
		}
		add(codes(values))
	}
	add(span(number(s.Minimum), number(s.Maximum), ""))
	add(span(whole(s.MinLength), whole(s.MaxLength), "characters"))
	add(span(whole(s.MinItems), whole(s.MaxItems), "items"))
	add(span(whole(s.MinProperties), whole(s.MaxProperties), "keys"))
	// The pattern of a quantity is the API server's own and tells a reader nothing.
	if s.Pattern != "" && !s.XIntOrString {
		add("matches " + code(s.Pattern))
	}
	switch {
	case len(s.XListMapKeys) > 0:
		add("unique by " + codes(s.XListMapKeys))
	case s.XListType != nil && *s.XListType == "set":
		add("no value twice")
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		if inner := boundsOf(*s.AdditionalProperties.Schema); inner != "" {
			add("each value: " + inner)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		if inner := boundsOf(*s.Items.Schema); inner != "" {
			add("each: " + inner)
		}
	}
	return strings.Join(out, "; ")
}

// span words a lower and an upper bound, either of which may be empty.
func span(low, high, unit string) string {
	var text string
	switch {
	case low == "" && high == "":
		return ""
	case low == "":
		text = "at most " + high
	case high == "":
		text = "at least " + low
	default:
		text = low + " to " + high
	}
	return strings.TrimSpace(text + " " + unit)
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func whole(v *int64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

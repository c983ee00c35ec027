// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// The server writes tool calls that it did not read as the model wrote them, in a markup whose tags begin with DSML between
// bars of any width and number:
//
//	<｜DSML｜invoke name="weather"><｜DSML｜parameter name="city" string="true">Berlin</｜DSML｜parameter></｜DSML｜invoke>
const (
	bars = `[|｜‖]`
	dsml = bars + `+ ?DSML(?:` + bars + `+ ?|\s)`
)

var (
	// marker begins the markup.
	marker = regexp.MustCompile(`<` + bars + `+ ?DSML`)

	invokeOpen  = regexp.MustCompile(`<` + dsml + `\s*invoke\s+name="([^"]*)"[^>]*>`)
	invokeClose = regexp.MustCompile(`</` + dsml + `\s*invoke\s*>`)
	parameter   = regexp.MustCompile(`(?s)<` + dsml + `\s*parameter\s+name="([^"]*)"[^>]*>(.*?)</` + dsml + `\s*parameter\s*>`)
)

// cutMarkup parts a text before the first tag.
func cutMarkup(text string) (before, markup string) {
	if at := marker.FindStringIndex(text); at != nil {
		return text[:at[0]], text[at[0]:]
	}
	return text, ""
}

// parseMarkup reads the tool calls of a markup. What is not closed is ignored, and of equal calls all but the first. All
// values are texts, whatever the tags say of them.
func parseMarkup(markup string, now time.Time) []message.ToolCall {
	var out []message.ToolCall
	seen := map[message.FunctionCall]bool{}
	opens := invokeOpen.FindAllStringSubmatchIndex(markup, -1)
	for i, at := range opens {
		body := markup[at[1]:]
		if i+1 < len(opens) {
			body = markup[at[1]:opens[i+1][0]]
		}
		end := invokeClose.FindStringIndex(body)
		if end == nil {
			continue
		}
		call := message.FunctionCall{Name: markup[at[2]:at[3]], Arguments: arguments(body[:end[0]])}
		if call.Name == "" || seen[call] {
			continue
		}
		seen[call] = true
		id := "call_dsml_" + strconv.FormatInt(now.UnixMilli(), 36) + "_" + strconv.Itoa(len(out))
		out = append(out, message.ToolCall{ID: id, Type: "function", Function: call})
	}
	return out
}

// arguments makes the JSON object of the parameters of a call.
func arguments(body string) string {
	args := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(body, -1) {
		args[m[1]] = m[2]
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(args); err != nil {
		return "{}" // a map of texts can always be written
	}
	return strings.TrimSpace(buf.String())
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
)

const (
	formatHeader = "【回复格式】\n你的最终回复必须是一个 JSON 对象，结构如下："
	formatFooter = "调用工具时不受此格式限制；除工具调用外，最终回复只能是这个 JSON 对象：" +
		"不要使用代码块，也不要在 JSON 之外写任何文字。"
	formatFields = "字段说明："
	replyMark    = "发送给对方的内容"
	silenceHint  = "如果没有要发送的内容，请将 %s 字段留空（\"\"）。"
)

// formatPrompt tells the model of the object that each reply must be. A card's own words replace all but the skeleton.
func formatPrompt(f *persona.OutputFormat) string {
	if own := strings.TrimSpace(f.Prompt); own != "" {
		return own + "\n" + skeleton(f)
	}
	reply, _ := f.ReplyField()
	return strings.Join([]string{
		formatHeader, skeleton(f), formatFields, explain(f), formatFooter + fmt.Sprintf(silenceHint, reply),
	}, "\n")
}

// skeleton is the object with a stand-in for each value, in the order of the fields.
func skeleton(f *persona.OutputFormat) string {
	lines := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		value := `"..."`
		switch field.Type {
		case persona.FieldNumber:
			value = "0"
		case persona.FieldBoolean:
			value = "true"
		}
		lines[i] = "  " + quote(field.Name) + ": " + value
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}"
}

func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// explain lists the fields with their types and what they are for.
func explain(f *persona.OutputFormat) string {
	reply, _ := f.ReplyField()
	lines := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		kind := string(field.Type)
		if field.Name == reply {
			kind += "，" + replyMark
		}
		lines[i] = "- " + field.Name + "（" + kind + "）"
		if d := strings.TrimSpace(field.Description); d != "" {
			lines[i] += "：" + d
		}
	}
	return strings.Join(lines, "\n")
}

// validate checks that all fields of the format are there with the right types. It gives the values of those that are
// not sent, in the types that were asked for, and what is wrong.
func validate(f *persona.OutputFormat, values map[string]any) (state map[string]any, problems []string) {
	reply, _ := f.ReplyField()
	state = make(map[string]any, len(f.Fields))
	for _, field := range f.Fields {
		value, there := values[field.Name]
		if !there || value == nil {
			problems = append(problems, "缺少字段 "+field.Name)
			continue
		}
		value, ok := coerce(field.Type, value)
		if !ok {
			problems = append(problems, "字段 "+field.Name+" 的类型必须是 "+string(field.Type))
			continue
		}
		if field.Name != reply {
			state[field.Name] = value
		}
	}
	return state, problems
}

// coerce gives a value in a type, if it is of that type or a text that writes one.
func coerce(t persona.FieldType, value any) (any, bool) {
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch t {
	case persona.FieldNumber:
		if isText {
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && json.Valid([]byte(text)) // JSON knows no Inf, NaN, hexadecimal or underscores
		}
		n, ok := value.(float64)
		return n, ok
	case persona.FieldBoolean:
		if isText {
			return text == "true", text == "true" || text == "false"
		}
		b, ok := value.(bool)
		return b, ok
	default:
		return value, isText
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// maxNameUnits bounds each name that strangers chose, in UTF-16 code units.
const maxNameUnits = 64

var weekdays = [...]string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}

// clock writes the time, in its own zone.
func clock(now time.Time) string {
	zone := "UTC" + now.Format("-07:00")
	if name := now.Location().String(); name != "" && name != "Local" && name != "UTC" {
		zone = name + "，" + zone
	}
	return fmt.Sprintf("【当前时间】\n%d年%d月%d日 %s %s（%s）\n这是唯一准确的当前时间，与对话中出现的其他时间不一致时以此为准。",
		now.Year(), int(now.Month()), now.Day(), weekdays[now.Weekday()], now.Format("15:04:05"), zone)
}

var sessionTypes = map[string]string{
	string(message.SessionPrivate): "私聊",
	string(message.SessionGroup):   "群聊",
	string(message.SessionChannel): "频道",
}

var roles = map[string]string{"owner": "群主", "admin": "管理员", "member": "成员"}

// environment writes where and with whom the conversation takes place; it is empty if nothing is known.
func environment(v persona.View) string {
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			b.WriteString("\n- " + label + "：" + value)
		}
	}
	line("平台", name(v.Platform))
	line("自己的账号", message.SenderLabel(name(v.SelfNickname), name(v.SelfID)))
	kind, known := sessionTypes[v.SessionType]
	if !known {
		kind = name(v.SessionType)
	}
	line("会话类型", kind)
	line("群", message.SenderLabel(name(v.GroupName), name(groupID(v))))
	line("自己在群内的身份", standing(v.SelfRole, v.SelfTitle))
	speaker := message.SenderLabel(name(v.Nickname), name(v.UserID))
	if s := standing(v.SenderRole, v.SenderTitle); s != "" && speaker != "" {
		speaker += "，" + s
	}
	line("当前发言者", speaker)
	if b.Len() == 0 {
		return ""
	}
	return "【会话环境】" + b.String() + "\n以上历史消息只属于当前会话。"
}

// groupID is the number of the group or, if nobody says it, what the id of the session holds of it:
// <platform>:<account>:group:<number>.
func groupID(v persona.View) string {
	if v.GroupID != "" || v.SessionType != string(message.SessionGroup) {
		return v.GroupID
	}
	parts := strings.SplitN(v.SessionID, ":", 4)
	if len(parts) < 4 || parts[2] != string(message.SessionGroup) {
		return ""
	}
	return parts[3]
}

// standing writes the role and the title of somebody in a group.
func standing(role, title string) string {
	text, known := roles[role]
	if !known {
		text = name(role)
	}
	if title = name(title); title != "" {
		if text != "" {
			text += "，"
		}
		text += "头衔「" + title + "」"
	}
	return text
}

// lastState writes what the last structured reply said besides the text, with sorted keys.
func lastState(values map[string]any) string {
	if len(values) == 0 {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(values); err != nil {
		return ""
	}
	return "【上一轮状态】\n" + strings.TrimSuffix(b.String(), "\n") + "\n以上是你上一次回复时的状态，仅供参考，可随对话变化。"
}

// name makes text that strangers chose fit for one line of the prompt.
func name(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	return i18n.Cut(strings.Join(strings.Fields(s), " "), maxNameUnits)
}

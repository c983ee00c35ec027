// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// texts are what a chat user reads when a call fails.
type texts map[failure]string

// texts gives the texts in the bot's language.
func (p *Provider) texts() texts {
	if i18n.Of(p.k) == i18n.Chinese {
		return chinese
	}
	return english
}

// The placeholder {status} stands for the HTTP status in brackets, {model} for the model's id, {time} for the timeout.
var english = texts{
	failFiltered:    "The model provider's content filter refused this message. Please put it in other words and try again.",
	failKey:         "The model provider refused the API key{status}.",
	failNotFound:    "The model provider does not know the model {model}{status}.",
	failTooLong:     "The conversation is too long for the model{status}.",
	failRefused:     "The model provider refused the request{status}.",
	failImages:      "None of the pictures can be read.",
	failQuota:       "The account at the model provider has no quota left{status}.",
	failBusy:        "The model provider is busy{status}. Please try again a little later.",
	failServer:      "The model provider failed{status}. Please try again a little later.",
	failUnreachable: "The model provider cannot be reached. Please try again a little later.",
	failForbidden:   "The model provider's address or certificate is not allowed.",
	failTimeout:     "The model gave no complete answer within {time}.",
	failStopped:     "The model provider is being reconfigured. Please try again.",
	failBroken:      "The model's answer broke off. Please try again.",
	failNonsense:    "The model provider gave an answer that makes no sense.",
}

var chinese = texts{
	failFiltered:    "内容被模型服务商的安全审核拦截，请换一种说法后再试。",
	failKey:         "模型服务商拒绝了 API 密钥{status}。",
	failNotFound:    "模型服务商没有模型 {model}{status}。",
	failTooLong:     "对话过长，超出了模型的上下文{status}。",
	failRefused:     "模型服务商拒绝了请求{status}。",
	failImages:      "无法读取图片。",
	failQuota:       "模型服务商的账户额度已用完{status}。",
	failBusy:        "模型服务商繁忙{status}，请稍后再试。",
	failServer:      "模型服务商出错{status}，请稍后再试。",
	failUnreachable: "无法连接模型服务商，请稍后再试。",
	failForbidden:   "模型服务商的地址或证书不被允许。",
	failTimeout:     "模型未能在 {time} 内完成回答。",
	failStopped:     "模型服务正在重新配置，请再试一次。",
	failBroken:      "模型的回答中断了，请再试一次。",
	failNonsense:    "模型服务商的返回内容无法识别。",
}

// describe fills in the text of a failed call of a model.
func (t texts) describe(kind failure, status int, id string, timeout time.Duration) string {
	shown := ""
	if status != 0 {
		shown = " (" + strconv.Itoa(status) + ")"
	}
	return strings.NewReplacer("{status}", shown, "{model}", id, "{time}", timeout.String()).Replace(t[kind])
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
)

// unknownPlatform is the platform of a call that names none, so that an identity is never one of an empty platform.
const unknownPlatform = "unknown"

// What a model is told when a call does not come about.
const (
	textUnknown   = "未知工具: %s"
	textSuggest   = "，你是否想用: %s"
	textHidden    = "工具 %s 未在当前会话启用"
	textMissing   = "缺少必填参数: %s"
	textExtra     = "未知参数: %s"
	textAllowed   = "（可用参数: %s）"
	textNone      = "（此工具没有参数）"
	textUnguarded = "权限不足: 权限检查未就绪，工具 %s 暂不可用"
	textGuard     = "权限检查失败，工具 %s 未执行"
	textPanic     = "工具 %s 内部出错"
	separator     = "；"
)

// Execute implements tools.Registry.
func (r *registry) Execute(ctx context.Context, name string, args map[string]any, call tools.CallContext) string {
	e, guard := r.find(name)
	if e == nil {
		return tools.ErrorResult(r.unknown(name, call.EnabledGroups))
	}
	if !offered(e.Groups, setOf(call.EnabledGroups)) {
		return tools.ErrorResult(fmt.Sprintf(textHidden, name))
	}
	if args == nil {
		args = map[string]any{}
	}
	if problems := e.check.of(args); len(problems) > 0 {
		return tools.ErrorResult(strings.Join(problems, separator))
	}
	if reason := r.ask(ctx, guard, e, args, call); reason != "" {
		return tools.ErrorResult(reason)
	}
	if e.Policy.Expanded().Visibility == access.Restricted {
		r.log.Info("Ran restricted Tool", "tool", name, "owner", e.owner, "sessionId", call.SessionID,
			"platform", call.Platform, "userId", call.UserID, "args", args)
	}
	return r.run(ctx, e, args, call)
}

// ask says why a call may not happen, or nothing. Who is asked is decided by the identity of the call alone.
func (r *registry) ask(ctx context.Context, guard access.Guard, e *entry, args map[string]any, call tools.CallContext) (reason string) {
	name := e.Definition.Function.Name
	platform := call.Platform
	if platform == "" {
		platform = unknownPlatform
	}
	request := access.Request{
		Capability: "tool:" + name, Policy: e.Policy, SessionID: call.SessionID, Platform: platform, UserID: call.UserID,
		TurnID: call.TurnID, Args: args, SkipConfirm: call.SkipConfirm,
	}
	if guard == nil {
		if access.MayRunUnguarded(e.Policy) {
			return ""
		}
		r.unguarded(ctx, request)
		return fmt.Sprintf(textUnguarded, name)
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Guard of tools failed", "tool", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			reason = fmt.Sprintf(textGuard, name)
		}
	}()
	return guard(ctx, request)
}

func (r *registry) run(ctx context.Context, e *entry, args map[string]any, call tools.CallContext) (result string) {
	name := e.Definition.Function.Name
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Tool failed", "tool", name, "owner", e.owner, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = tools.ErrorResult(fmt.Sprintf(textPanic, name))
		}
	}()
	result, err := e.Handler(ctx, args, call)
	if err != nil {
		r.log.Debug("Tool gave an error", "tool", name, "owner", e.owner, "error", err)
		return tools.ErrorResult(err.Error())
	}
	return result
}

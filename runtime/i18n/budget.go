// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

const (
	idBudgetSpent      ID = "budget-spent"
	idBudgetSpentUser  ID = "budget-spent-user"
	idBudgetSpentTalk  ID = "budget-spent-conversation"
	idBudgetNoPrice    ID = "budget-no-price"
	idBudgetNotReady   ID = "budget-not-ready"
	idBudgetReadOnly   ID = "budget-read-only"
	idBudgetWarning    ID = "budget-warning"
	idBudgetLine       ID = "budget-line"
	idBudgetNone       ID = "budget-none"
	idBudgetOwnersOnly ID = "budget-owners-only"
	idBudgetTokens     ID = "budget-tokens"
)

// BudgetSpent says that the bot may not spend more until a time.
func BudgetSpent(until string) Message {
	return Message{id: idBudgetSpent, args: []string{"until", until}}
}

// BudgetSpentUser says that somebody may not have more spent until a time.
func BudgetSpentUser(until string) Message {
	return Message{id: idBudgetSpentUser, args: []string{"until", until}}
}

// BudgetSpentConversation says that no more may be spent in a conversation until a time.
func BudgetSpentConversation(until string) Message {
	return Message{id: idBudgetSpentTalk, args: []string{"until", until}}
}

// BudgetNoPrice says that a budget in money cannot be kept with a model that has no price.
func BudgetNoPrice(model, budget string) Message {
	return Message{id: idBudgetNoPrice, args: []string{"model", model, "budget", budget}}
}

// BudgetNotReady says that it is not known yet what was spent before.
func BudgetNotReady() Message { return Message{id: idBudgetNotReady} }

// BudgetReadOnly says, to a model, that a tool is not offered while the budget is nearly used.
func BudgetReadOnly(tool string) Message {
	return Message{id: idBudgetReadOnly, args: []string{"tool", tool}}
}

// BudgetWarning tells an owner how much of a budget is spent.
func BudgetWarning(budget, percent, until string) Message {
	return Message{id: idBudgetWarning, args: []string{"budget", budget, "percent", percent, "until", until}}
}

// BudgetLine tells how one budget stands.
func BudgetLine(budget, scope, used, limit, unit, percent, until string) Message {
	return Message{id: idBudgetLine, args: []string{
		"budget", budget, "scope", scope, "used", used, "limit", limit, "unit", unit, "percent", percent, "until", until,
	}}
}

// BudgetTokens is the unit of what is counted in tokens.
func BudgetTokens() Message { return Message{id: idBudgetTokens} }

// BudgetNone says that no budget is declared.
func BudgetNone() Message { return Message{id: idBudgetNone} }

// BudgetOwnersOnly says that only owners may look at budgets.
func BudgetOwnersOnly() Message { return Message{id: idBudgetOwnersOnly} }

// budgetTexts are the texts about budgets. It is never modified.
var budgetTexts = map[ID]text{
	idBudgetSpent: {
		en: "I have used up what I may spend for now. Please try again after {until}.",
		zh: "我的用量已达上限，请在 {until} 之后再试。",
	},
	idBudgetSpentUser: {
		en: "What I may spend on your questions is used up for now. Please try again after {until}.",
		zh: "您的用量已达上限，请在 {until} 之后再试。",
	},
	idBudgetSpentTalk: {
		en: "What I may spend on this conversation is used up for now. Please try again after {until}.",
		zh: "本会话的用量已达上限，请在 {until} 之后再试。",
	},
	idBudgetNoPrice: {
		en: "The model {model} has no price that the budget {budget} could be kept with, so I may not ask it.",
		zh: "模型 {model} 没有预算 {budget} 所需的价格，无法调用。",
	},
	idBudgetNotReady: {
		en: "I do not know yet what I have spent before. Please try again in a moment.",
		zh: "尚未读取此前的用量，请稍后再试。",
	},
	idBudgetReadOnly: {
		en: "{tool} is not available at the moment: the budget is nearly used, and only tools that change nothing are offered",
		zh: "{tool} 暂不可用：预算即将用尽，目前仅提供只读工具",
	},
	idBudgetWarning: {
		en: "Budget {budget}: {percent} % is spent, until {until}.",
		zh: "预算 {budget} 已使用 {percent}%，周期截止 {until}。",
	},
	idBudgetLine: {
		en: "{budget} ({scope}): {used} of {limit} {unit}, {percent} %, until {until}",
		zh: "{budget}（{scope}）：已用 {used} / {limit} {unit}，{percent}%，截止 {until}",
	},
	idBudgetNone:       {en: "No budget is declared.", zh: "未声明任何预算。"},
	idBudgetOwnersOnly: {en: "Only owners may look at the budgets.", zh: "仅所有者可查看预算。"},
	idBudgetTokens:     {en: "tokens", zh: "个词元"},
}

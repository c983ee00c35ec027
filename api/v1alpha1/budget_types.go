// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BudgetPeriod is how long a window of a budget is.
//
// +kubebuilder:validation:Enum=Hour;Day;Month
type BudgetPeriod string

// BudgetScope says what shares a budget.
//
// +kubebuilder:validation:Enum=Bot;User;Session
type BudgetScope string

// BudgetAction is what happens before a budget is used up.
//
// +kubebuilder:validation:Enum=Warn;SwitchModel;ReadOnlyTools
type BudgetAction string

// BudgetAmount is what may be spent in a window, in tokens or in money.
//
// +kubebuilder:validation:XValidation:rule="has(self.tokens) != has(self.cost)",message="must have either tokens or cost"
type BudgetAmount struct {
	// tokens that may be used, prompts and replies together. 0 allows no call of a model at all.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000
	Tokens *int64 `json:"tokens,omitempty"`

	// cost that may be caused. It needs prices in the Plugins that offer the models: a model without a price in this
	// currency is not called.
	//
	// +optional
	Cost *BudgetCost `json:"cost,omitempty"`
}

// BudgetCost is an amount of money.
type BudgetCost struct {
	// amount as a decimal number with at most nine decimals, such as "2.50".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=19
	// +kubebuilder:validation:Pattern=`^[0-9]{1,9}(\.[0-9]{1,9})?$`
	Amount string `json:"amount,omitempty"`

	// currency by its code of ISO 4217, such as USD.
	//
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern=`^[A-Z]{3}$`
	Currency string `json:"currency,omitempty"`
}

// BudgetWindow is the time in which a budget holds before it begins anew.
type BudgetWindow struct {
	// per is Hour, Day or Month, as the calendar of timeZone has them.
	//
	// +required
	Per BudgetPeriod `json:"per,omitempty"`

	// timeZone by its name in the IANA database, such as Europe/Berlin. UTC without it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// AgentBudget limits what a bot spends on models.
type AgentBudget struct {
	// name of the budget. What was spent is kept under it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// scope says whether the whole bot shares the budget, or each person or each conversation has one of its own.
	//
	// +optional
	// +default="Bot"
	Scope BudgetScope `json:"scope,omitempty"`

	BudgetWindow `json:",inline"`
	BudgetAmount `json:",inline"`

	// steps are what happens before the budget is used up. At its end the bot says so and calls no model until the next
	// window.
	//
	// +optional
	// +listType=map
	// +listMapKey=action
	// +kubebuilder:validation:MaxItems=3
	Steps []BudgetStep `json:"steps,omitempty"`
}

// BudgetStep is what happens once a part of a budget is spent.
//
// +kubebuilder:validation:XValidation:rule="(self.action == 'SwitchModel') == has(self.model)",message="model must be given for SwitchModel, and for nothing else"
type BudgetStep struct {
	// action is Warn, which tells the owners, SwitchModel, which answers with another model, or ReadOnlyTools, which
	// leaves only tools that change nothing.
	//
	// +required
	Action BudgetAction `json:"action,omitempty"`

	// atPercent of the budget, from 1 to 100.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	AtPercent int32 `json:"atPercent,omitempty"`

	// model to answer with.
	//
	// +optional
	Model *ModelReference `json:"model,omitempty"`
}

// BudgetState says whether a budget refuses calls of models.
//
// +kubebuilder:validation:Enum=Within;Exhausted
type BudgetState string

// The states of budgets.
const (
	BudgetWithin    BudgetState = "Within"
	BudgetExhausted BudgetState = "Exhausted"
)

// BudgetStatus is how a budget stands; of one that people or conversations have each, whoever used most.
type BudgetStatus struct {
	// name of the budget.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`

	// scope of the budget.
	//
	// +optional
	Scope BudgetScope `json:"scope,omitempty"`

	// unit is tokens, or a currency.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Unit string `json:"unit,omitempty"`

	// limit in that unit.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Limit string `json:"limit,omitempty"`

	// usedPercent is how much of it is used, rounded down to tens.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UsedPercent *int32 `json:"usedPercent,omitempty"`

	// state is Exhausted while calls of models are refused.
	//
	// +optional
	State BudgetState `json:"state,omitempty"`

	// until is when the budget begins anew.
	//
	// +optional
	Until metav1.Time `json:"until,omitempty,omitzero"`
}

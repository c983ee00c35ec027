// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestTenantPolicies(t *testing.T) {
	plugin := doc("Plugin", "main", "{module: llm-openai, secrets: [{path: apiKey, secretKeyRef: {name: llm-keys, key: k}}]}")
	wanted := "{plugins: [{name: main}]}"
	for name, tc := range map[string]struct {
		policies []string
		bot      string
		want     []string
		refused  bool
	}{
		"nothing said":            {[]string{"{}"}, wanted, nil, false},
		"module, short":           {[]string{"{allowedModules: [llm-openai]}"}, wanted, nil, false},
		"module, full":            {[]string{`{allowedModules: ["@aalis/plugin-llm-*"]}`}, wanted, nil, false},
		"what is on by default":   {[]string{"{allowedModules: [none]}"}, "{plugins: [{name: agent, module: agent}]}", nil, false},
		"what is off":             {[]string{"{allowedModules: [none]}"}, "{plugins: [{name: main, state: Disabled}]}", nil, false},
		"module that is not":      {[]string{"{allowedModules: [llm-ollama, llm-deepseek]}"}, wanted, []string{"Error NotAllowed: Plugin main: spec.module: module @aalis/plugin-llm-openai is not allowed by TenantPolicy t0, which allows llm-ollama, llm-deepseek"}, false},
		"every policy must allow": {[]string{"{}", `{allowedModules: ["*"]}`, "{allowedModules: [x]}"}, wanted, []string{"Error NotAllowed: Plugin main: spec.module: module @aalis/plugin-llm-openai is not allowed by TenantPolicy t2, which allows x"}, false},
		"inline": {[]string{"{allowedModules: [x]}"}, "{plugins: [{name: search, module: llm-openai}]}", []string{
			"Error NotAllowed: AgentInstance b: spec.plugins[search].module: module @aalis/plugin-llm-openai is not allowed by TenantPolicy t0, which allows x",
		}, true},
		"Secret":             {[]string{`{allowedSecretNames: ["llm-*"]}`}, wanted, nil, false},
		"Secret that is not": {[]string{"{allowedSecretNames: [bots-*]}"}, wanted, []string{"Error NotAllowed: Plugin main: spec.secrets[apiKey].secretKeyRef.name: Secret llm-keys is not allowed by TenantPolicy t0, which allows bots-*"}, false},
		"image":              {[]string{`{allowedImages: ["registry.example/team-a/*"]}`}, "{image: registry.example/team-a/aalis:2}", nil, false},
		"image that is not":  {[]string{`{allowedImages: ["registry.example/team-a/*"]}`}, "{image: evil.example/aalis}", []string{"Error NotAllowed: AgentInstance b: spec.image: image evil.example/aalis is not allowed by TenantPolicy t0, which allows registry.example/team-a/*"}, true},
		"egress":             {[]string{"{customEgress: Deny}"}, "{network: {egress: [{}]}}", []string{"Error NotAllowed: AgentInstance b: spec.network.egress: an egress rule of its own is not allowed by TenantPolicy t0, which allows none"}, true},
		"unsafe": {[]string{"{unsafe: Deny}"}, "{unsafe: {authority: Disabled}}", []string{
			"Error NotAllowed: AgentInstance b: spec.unsafe: taking protection away is not allowed by TenantPolicy t0, which allows nothing of it",
			"Info Unsafe: AgentInstance b: spec.unsafe.authority: everybody may run everything that no AuthorityPolicy denies, without confirmation",
		}, true},
	} {
		list := []string{plugin, bot(tc.bot)}
		for i, p := range tc.policies {
			list = append(list, doc("TenantPolicy", "t"+string(rune('0'+i)), p))
		}
		r := Compose(load(t, docs(list...)))
		if d := cmp.Diff(tc.want, texts(r)); d != "" || (r.Refused() != nil) != tc.refused {
			t.Errorf("%s: refused %v %s", name, r.Refused(), d)
		}
	}
}

// TestTenantDefaults: they fill in what the bot does not say, and never what it does; what is declared stays as it is.
func TestTenantDefaults(t *testing.T) {
	in := load(t, docs(
		doc("TenantPolicy", "b", "{defaults: {resources: {requests: {cpu: 2}}, network: {egress: [{}]}}}"),
		doc("TenantPolicy", "a", "{customEgress: Deny, defaults: {resources: {requests: {cpu: 1}}}}"), bot("{}"),
	))
	r := Compose(in)
	cpu := r.Instance.Spec.Resources.Requests.Cpu()
	if !r.Deployable() || cpu.Value() != 1 || len(r.Instance.Spec.Network.Egress) != 1 || in.Instance.Spec.Resources != nil {
		t.Errorf("%v: got %+v", texts(r), r.Instance.Spec)
	}
	if len(r.References) != 2 || r.References[0].Kind != "TenantPolicy" {
		t.Errorf("references %+v", r.References)
	}
	own := load(t, docs(bot("{resources: {requests: {cpu: 3}}}")))
	own.TenantPolicies = in.TenantPolicies
	if got := Compose(own).Instance.Spec.Resources.Requests.Cpu(); got.Value() != 3 {
		t.Errorf("got %s", got)
	}
	now := metav1.Now()
	for i := range in.TenantPolicies {
		in.TenantPolicies[i].DeletionTimestamp = &now
	}
	if got := Compose(in); got.Instance.Spec.Resources != nil || len(got.References) != 0 {
		t.Errorf("policies that are being deleted give %+v", got.Instance.Spec)
	}
	in.TenantPolicies[0].DeletionTimestamp, in.TenantPolicies[0].Namespace = nil, "elsewhere"
	if got := Compose(in); got.Instance.Spec.Resources != nil {
		t.Error("a policy of another namespace holds")
	}
}

// TestOneMoreTenantPolicyAllowsNothingMore, in any order.
func TestOneMoreTenantPolicyAllowsNothingMore(t *testing.T) {
	base := load(t, docs(
		doc("Plugin", "main", "{module: llm-openai, secrets: [{path: apiKey, secretKeyRef: {name: llm-keys, key: k}}]}"),
		bot("{plugins: [{name: main}], image: registry.example/a, unsafe: {authority: Disabled}}"),
	))
	list := func(t *rapid.T, label string, values ...string) []string {
		if rapid.Bool().Draw(t, label+"?") {
			return rapid.SliceOfN(rapid.SampledFrom(append(values, "*", "none", "")), 0, 3).Draw(t, label)
		}
		return nil
	}
	draw := rapid.Custom(func(t *rapid.T) v1alpha1.TenantPolicy {
		return v1alpha1.TenantPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: rapid.StringMatching("[a-z]{3}").Draw(t, "name")},
			Spec: v1alpha1.TenantPolicySpec{
				AllowedModules: list(t, "modules", "llm-openai", "llm-*"), AllowedImages: list(t, "images", "registry.example/*"),
				AllowedSecretNames: list(t, "secrets", "llm-*"), Unsafe: rapid.SampledFrom([]v1alpha1.AddressRule{"", "Allow", "Deny"}).Draw(t, "unsafe"),
			},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := base
		in.TenantPolicies = rapid.SliceOfN(draw, 0, 3).Draw(t, "before")
		before := Compose(in)
		in.TenantPolicies = append([]v1alpha1.TenantPolicy{draw.Draw(t, "more")}, in.TenantPolicies...)
		if !before.Deployable() && Compose(in).Deployable() {
			t.Fatalf("%v is allowed now", texts(before))
		}
		first := texts(Compose(in))
		in.TenantPolicies = shuffled(t, in.TenantPolicies)
		if len(texts(Compose(in))) != len(first) {
			t.Fatal("the order matters")
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/replicas"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestLook: a person with the role view sees why a bot is not Ready; one with edit has its Secrets looked at.
func TestLook(t *testing.T) {
	ns := env.Namespace(t)
	node := env.StartNode(t, ns)
	node.Behave(t, testenv.Behaviour{Missing: []string{"llm/api-key"}})
	bot := testenv.Instance(ns, "hello")
	env.Create(t, testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl."), bot)
	viewer := person{env.Person(t, ns, "view"), ns}
	editor := person{env.Person(t, ns, "edit"), ns}

	viewer.run(t, "explain", "hello").want(t, 0, "is not looked at yet", "The operator has not looked at this bot")
	env.StartOperator(t, []string{ns}, nil)
	testenv.WaitFor(t, &env, bot, func(b *v1alpha1.AgentInstance) error {
		return testenv.Condition(b.Status.Conditions, "Ready", metav1.ConditionFalse, v1alpha1.ReasonPluginPending)
	})
	explained := viewer.run(t, "explain", "hello")
	explained.want(t, 0, "not Ready", "Why: PluginPending", "@aalis/plugin-llm-openai:main", "waiting for secret:llm/api-key",
		"aalis-hello-0", bot.Status.AppliedRevision, "kubectl aalis reload hello -n "+ns)
	if len(explained.err) > 0 {
		t.Errorf("a viewer may not read all: %s", explained.err)
	}
	viewer.run(t, "status").want(t, 0, "hello", "Pending", "False", "PluginPending", "owl")
	viewer.run(t, "status", "-o", "json").want(t, 0, `"reason": "PluginPending"`)

	var list []replicas.Replica
	if err := json.Unmarshal([]byte(viewer.run(t, "replicas", "hello", "-o", "json").out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Pod != "aalis-hello-0" || !list[0].Current || list[0].Role != "active" {
		t.Errorf("got %+v", list)
	}
	viewer.run(t, "replicas", "nobody").want(t, 1, `there is no AgentInstance "nobody"`, "there is hello")
	viewer.run(t, "__complete", "explain", "h").want(t, 0, "hello")

	viewer.run(t, "reload", "hello").want(t, 1, "forbidden")
	editor.run(t, "reload", "hello").want(t, 0, "pod/aalis-hello-0 touched")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "aalis-hello-0"}}
	env.Refresh(t, pod)
	if pod.Annotations[v1alpha1.AnnotationReload] == "" {
		t.Errorf("the annotation is not there: %v", pod.Annotations)
	}
	editor.run(t, "reload", "hello", "--wait", "--timeout", "1s").want(t, 1, "waiting for secret:llm/api-key")
	node.Behave(t, testenv.Behaviour{})
	editor.run(t, "reload", "hello", "--wait").want(t, 0, "no plugin waits for a Secret key")
	testenv.WaitFor(t, &env, bot, func(b *v1alpha1.AgentInstance) error {
		return testenv.Condition(b.Status.Conditions, "Ready", metav1.ConditionTrue, v1alpha1.ReasonActive)
	})
	viewer.run(t, "explain", "hello").want(t, 0, "is Ready", "Nothing to do")
}

const declared = `apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: owl}
spec: {prompt: "%s"}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello, labels: {tier: shared}}
spec:
  model: {plugin: main, id: %s}
  personaRef: {name: owl}
  plugins: [{name: main}]
  drainTimeoutSeconds: %d
`

// TestDiff: diff says what applying does before it is done, and does not see what admission fills in as a change.
func TestDiff(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	bot, persona := testenv.Instance(ns, "hello"), testenv.Persona(ns, "owl", "You are an owl.")
	env.Create(t, testenv.Plugin(ns, "main"), persona, bot)
	env.StartOperator(t, []string{ns}, nil)
	active := func(b *v1alpha1.AgentInstance) error {
		return testenv.Condition(b.Status.Conditions, "Ready", metav1.ConditionTrue, v1alpha1.ReasonActive)
	}
	testenv.WaitFor(t, &env, bot, active)
	before := bot.Status.Revision
	viewer := person{env.Person(t, ns, "view"), ns}

	same := write(t, "same.yaml", fmt.Sprintf(declared, "You are an owl.", "small", 60))
	viewer.run(t, "diff", "-f", same).want(t, 0)
	edited := write(t, "edited.yaml", fmt.Sprintf(declared, "You are a cat.", "small", 60))
	viewer.run(t, "diff", "-f", edited).want(t, 1, ns+"/hello: Reload", "-prompt: You are an owl.", "+prompt: You are a cat.")
	restart := write(t, "restart.yaml", fmt.Sprintf(declared, "You are an owl.", "small", 90))
	viewer.run(t, "diff", "-f", restart, "-o", "yaml").want(t, 1, "effect: Restart", "text: drain timeout")
	wrong := write(t, "wrong.yaml", fmt.Sprintf(declared, "You are an owl.", "' '", 60))
	viewer.run(t, "diff", "-f", wrong).want(t, 2, "hello: Refused", "wrong.yaml: document 2, line 10", "would be refused")
	viewer.run(t, "diff", "-f", "nowhere.yaml").want(t, 2, "nowhere.yaml")

	env.Refresh(t, bot)
	if bot.Status.Revision != before {
		t.Errorf("diff changed the bot: revision %s, was %s", bot.Status.Revision, before)
	}
	testenv.Edit(t, &env, persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a cat." })
	testenv.WaitFor(t, &env, bot, func(b *v1alpha1.AgentInstance) error {
		if b.Status.Revision == before {
			return errors.New("the edit is not live yet")
		}
		return active(b)
	})
	viewer.run(t, "diff", "-f", edited).want(t, 0)
}

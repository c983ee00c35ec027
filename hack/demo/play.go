// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

const (
	botName     = "hello"
	personaName = "night-owl"
	question    = "Good evening, who are you?"
	newName     = "Early Bird"
	newPrompt   = "You are a cheerful companion who loves mornings."
)

type demo struct {
	cluster *harness.Cluster
	options options
	out     io.Writer
	result  result
}

func (d *demo) play(ctx context.Context) error {
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"Namespace, model endpoint and Secrets", d.prepare},
		{"The bot: config/samples", d.declare},
		{"A first question", func(ctx context.Context) error { return d.ask(ctx, &d.result.FirstReply) }},
		{"Another persona, with kubectl, while the bot runs", d.edit},
		{"The same question again", func(ctx context.Context) error { return d.ask(ctx, &d.result.ReplyAfterEdit) }},
		{"Token metrics, as Prometheus sees them", d.metrics},
	}
	for _, s := range steps {
		fmt.Fprintf(d.out, "\n== %s\n", s.title)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(s.title[:1])+s.title[1:], err)
		}
	}
	d.goOn()
	return nil
}

func (d *demo) prepare(ctx context.Context) error {
	ns := d.options.namespace
	if err := d.cluster.EnsureNamespace(ctx, ns); err != nil {
		return err
	}
	key := d.options.endpoint.key
	if !d.options.endpoint.isSet() {
		key = "sk-demo"
		manifest := strings.ReplaceAll(fakellmManifest, "IMAGE", d.options.fakeImage)
		if err := d.cluster.Apply(ctx, ns, manifest); err != nil {
			return err
		}
		if _, err := d.cluster.Run(ctx, "", "rollout", "status", "-n", ns, "deployment/fakellm", "--timeout=120s"); err != nil {
			return err
		}
		fmt.Fprintln(d.out, "no OPENAI_API_KEY: the bot talks to hack/fakellm, which answers with its system prompt's first line and your text")
	} else {
		fmt.Fprintf(d.out, "the bot talks to %s, model %s\n", d.options.endpoint.baseURL, d.options.endpoint.model)
	}
	if err := d.cluster.PutSecret(ctx, ns, "llm", "api-key", key); err != nil {
		return err
	}
	if _, err := d.cluster.Run(ctx, "", "get", "secret", "-n", ns, "door"); err == nil {
		return nil // of an earlier run: a new token would take a while to reach a bot that runs
	}
	token := make([]byte, 24)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	return d.cluster.PutSecret(ctx, ns, "door", "tokens", "alice: "+hex.EncodeToString(token))
}

func (d *demo) declare(ctx context.Context) error {
	samples, err := d.cluster.Run(ctx, "", "kustomize", d.options.samples)
	if err != nil {
		return err
	}
	baseURL, model := "http://fakellm."+d.options.namespace+".svc:8080", sampleModel
	if d.options.endpoint.isSet() {
		baseURL, model = d.options.endpoint.baseURL, d.options.endpoint.model
	}
	manifests, err := pointAt(samples, baseURL, model)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := d.cluster.Apply(ctx, d.options.namespace, manifests); err != nil {
		return err
	}
	if _, err := d.cluster.Until(ctx, d.options.namespace, botName, harness.IsReady); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "Active %.1f s after kubectl apply\n", time.Since(start).Seconds())
	list, err := d.cluster.Run(ctx, "", "get", "-n", d.options.namespace, "aalis")
	fmt.Fprint(d.out, list)
	return err
}

func (d *demo) ask(ctx context.Context, reply *string) error {
	fmt.Fprintf(d.out, "> %s\n%s: ", question, botName)
	answer, err := d.cluster.Ask(ctx, d.options.namespace, botName, "demo-"+harness.ShortID(), question, d.out)
	if err != nil {
		return err
	}
	if answer == "" {
		return fmt.Errorf("the bot said nothing")
	}
	*reply = answer
	return nil
}

func (d *demo) edit(ctx context.Context) error {
	ns := d.options.namespace
	w, err := d.cluster.WatchEdit(ctx, ns, personaName, botName)
	if err != nil {
		return err
	}
	defer w.Stop()
	patch := fmt.Sprintf(`{"spec":{"displayName":%q,"prompt":%q}}`, newName, newPrompt)
	if _, err := d.cluster.Run(ctx, "", "patch", "-n", ns, "persona", personaName, "--type=merge", "-p", patch); err != nil {
		return err
	}
	took, err := w.Live(ctx)
	if err != nil {
		return err
	}
	restarts, err := d.cluster.Restarts(ctx, ns, botName)
	if err != nil {
		return err
	}
	d.result.EditToLiveMs, d.result.Restarts = float64(took.Microseconds())/1000, restarts
	fmt.Fprintf(d.out, "kubectl patch persona %s; acknowledged by the kernel %.0f ms after the edit was seen, %d restarts\n",
		personaName, d.result.EditToLiveMs, restarts)
	if restarts != 0 {
		return fmt.Errorf("the pod restarted %d times", restarts)
	}
	return nil
}

func (d *demo) metrics(ctx context.Context) error {
	text, err := d.cluster.Metrics(ctx, d.options.namespace, botName)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "aalis_tokens_total") {
			fmt.Fprint(d.out, line)
		}
	}
	if d.result.PromptTokens, err = harness.Sum(text, "aalis_tokens_total", map[string]string{"type": "prompt"}); err != nil {
		return err
	}
	d.result.CompletionTokens, err = harness.Sum(text, "aalis_tokens_total", map[string]string{"type": "completion"})
	return err
}

func (d *demo) goOn() {
	ns, kubeconfig := d.options.namespace, ""
	if d.options.kubeconfig != "" {
		kubeconfig = fmt.Sprintf("\n  export KUBECONFIG=%s PATH=$PWD/out/bin:$PATH", d.options.kubeconfig)
	}
	fmt.Fprintf(d.out, `
== How to go on%s
  kubectl aalis chat %s -n %s                  # talk to it
  kubectl edit persona %s -n %s         # change who it is, while you talk
  kubectl get aalis -n %s                       # all objects of the bot
  kubectl logs -n %s %s                # its log
  kubectl port-forward -n %s pod/%s 8080 # for any OpenAI client: http://127.0.0.1:8080/v1
  make demo-down                                        # remove the demo; make cluster-down removes the cluster

`, kubeconfig, botName, ns, personaName, ns, ns, ns, harness.PodName(botName), ns, harness.PodName(botName))
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the main job on a real cluster: it declares a bot as YAML, talks to it, changes its persona
// while it runs, talks again, and reads its token metrics. Its last line is one JSON object with the result.
//
// With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) set the bot uses that endpoint, without them hack/fakellm.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: yours)")
	flag.StringVar(&o.kubectl, "kubectl", "kubectl", "kubectl binary")
	flag.StringVar(&o.samples, "samples", "config/samples", "directory of the samples")
	flag.StringVar(&o.fakeImage, "fakellm-image", "", "image of hack/fakellm")
	flag.StringVar(&o.namespace, "namespace", "aalis-demo", "namespace of the demo")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time that the whole demo may take")
	flag.Parse()
	o.endpoint = endpointFromEnv(os.Getenv)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r := run(ctx, o)
	stop()
	line, err := json.Marshal(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(string(line))
	if !r.OK {
		os.Exit(1)
	}
}

// result is the last line of the demo.
type result struct {
	OK               bool    `json:"ok"`
	Error            string  `json:"error,omitempty"`
	FirstReply       string  `json:"firstReply"`
	ReplyAfterEdit   string  `json:"replyAfterEdit"`
	EditToLiveMs     float64 `json:"editToLiveMs"`
	Restarts         int32   `json:"restarts"`
	PromptTokens     float64 `json:"promptTokens"`
	CompletionTokens float64 `json:"completionTokens"`
}

func run(ctx context.Context, o options) result {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c, err := harness.Connect(o.kubeconfig, o.kubectl)
	if err != nil {
		return result{Error: err.Error()}
	}
	d := &demo{cluster: c, options: o, out: os.Stdout}
	if err := d.play(ctx); err != nil {
		d.result.Error = err.Error()
		return d.result
	}
	d.result.OK = true
	return d.result
}

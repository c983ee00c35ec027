// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/replicas"
)

// Print writes a report for people. Now is the time that ages are counted from.
func Print(w io.Writer, r Report, now time.Time) error {
	p := printer{w: w, now: now}
	p.head(r)
	p.conditions(r)
	p.plugins(r)
	p.pods(r)
	p.events(r)
	for _, note := range r.Notes {
		p.line("Note: %s", note)
	}
	p.line("Next: %s", r.Next)
	return p.err
}

type printer struct {
	w   io.Writer
	now time.Time
	err error
}

// line writes one line. The texts in it come from others, so that what could steer a terminal is escaped.
func (p *printer) line(format string, args ...any) {
	if p.err != nil {
		return
	}
	text := fmt.Sprintf(format, args...)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	_, p.err = io.WriteString(p.w, indent+output.Clean(text)+"\n")
}

func (p *printer) table(header []string, rows [][]string) {
	if p.err != nil || len(rows) == 0 {
		return
	}
	var b strings.Builder
	p.err = output.Table(&b, header, rows)
	for line := range strings.Lines(b.String()) {
		if p.err == nil {
			_, p.err = io.WriteString(p.w, "  "+strings.TrimRight(line, " \n")+"\n")
		}
	}
}

func (p *printer) head(r Report) {
	ready := map[metav1.ConditionStatus]string{metav1.ConditionTrue: "Ready", metav1.ConditionFalse: "not Ready"}[r.Ready]
	text := fmt.Sprintf("AgentInstance %s/%s is %s", r.Namespace, r.Name, cmp.Or(ready, "not looked at yet"))
	if r.Since != nil {
		text += fmt.Sprintf(" since %s", output.Age(p.now, *r.Since))
	}
	if r.State != "" {
		text += ", state " + string(r.State)
	}
	p.line("%s", text)
	if r.Reason != "" {
		p.line("Why: %s: %s", r.Reason, r.Message)
	}
	if r.Deleting != nil {
		p.line("Deleting: since %s", output.Age(p.now, *r.Deleting))
	}
	p.line("Revision: %s wanted, %s runs", cmp.Or(r.Revision, "none"), cmp.Or(r.AppliedRevision, "none"))
	if c := r.PendingChange; c != nil {
		p.line("Pending change: %s to %s: %s", c.Effect, c.Revision, c.Message)
	}
	switch {
	case r.ModelMessage != "":
		p.line("Model: none: %s", r.ModelMessage)
	case r.Model != "":
		p.line("Model: %s", r.Model)
	}
	if l := r.LastRecompute; l != nil {
		text := "Last recompute: " + l.Reason
		if l.Service != "" {
			text += " " + l.Service
		}
		if l.Rounds != nil {
			text += fmt.Sprintf(", %d rounds", *l.Rounds)
		}
		if !l.Time.IsZero() {
			text += ", " + output.Age(p.now, l.Time.Time) + " ago"
		}
		p.line("%s", text)
	}
}

func (p *printer) conditions(r Report) {
	var rows [][]string
	for _, c := range r.Conditions {
		message := c.Message
		if message == r.Message {
			message = "(as above)"
		}
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, output.Age(p.now, c.LastTransitionTime.Time), message})
	}
	if len(rows) > 0 {
		p.line("Conditions:")
	}
	p.table([]string{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}, rows)
}

func (p *printer) plugins(r Report) {
	if r.ActivePlugins+len(r.Plugins) == 0 {
		return
	}
	p.line("Plugins: %d active, %d not", r.ActivePlugins, len(r.Plugins))
	var rows [][]string
	for _, s := range r.Plugins[:min(len(r.Plugins), maxPlugins)] {
		rows = append(rows, []string{s.ID, string(s.State), s.Message})
	}
	p.table([]string{"PLUGIN", "STATE", "MESSAGE"}, rows)
	if more := len(r.Plugins) - maxPlugins; more > 0 {
		p.line("  and %d more: -o yaml shows them", more)
	}
}

func (p *printer) pods(r Report) {
	if len(r.Replicas) == 0 {
		p.line("Pods: none")
		return
	}
	p.line("Pods:")
	p.table(replicas.Header, replicas.Rows(r.Replicas, p.now))
}

func (p *printer) events(r Report) {
	var rows [][]string
	for _, e := range r.Events {
		rows = append(rows, []string{output.Age(p.now, e.Time), e.Type, e.Reason, e.Object, e.Message})
	}
	if len(rows) > 0 {
		p.line("Events:")
	}
	p.table([]string{"AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"}, rows)
}

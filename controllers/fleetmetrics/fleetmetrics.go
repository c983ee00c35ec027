// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleetmetrics shows to Prometheus how the bots and Plugins of the cluster stand. It reads the operator's cache when it is
// scraped and keeps nothing, so that a series goes with its object, and it writes nothing. Package controllers registers it.
package fleetmetrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// The bounds of what is shown. What is not shown is counted in aalis_operator_objects all the same.
const (
	// MaxBots and MaxPlugins are the most objects with series of their own.
	MaxBots    = 10_000
	MaxPlugins = 20_000
	// SeriesPerBot is how many series a bot has.
	SeriesPerBot = 9
)

// scrapeTimeout bounds the reads of the cache, which do not wait for anything once it has synced.
const scrapeTimeout = 5 * time.Second

// Conditions are the conditions of a bot that are shown.
func Conditions() []string {
	return []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled}
}

// Collector implements prometheus.Collector.
type Collector struct {
	reader  client.Reader
	elected <-chan struct{}

	objects, state, condition, pending, rejected, sequence, plugin *prometheus.Desc
}

// New makes a Collector of what a cache shows. It shows nothing until elected is closed: of several operators only the one that
// works speaks, so that sums are right.
func New(reader client.Reader, elected <-chan struct{}) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("aalis_operator_"+name, help, labels, nil)
	}
	return &Collector{
		reader: reader, elected: elected,
		objects:   desc("objects", "Objects by kind.", "kind"),
		state:     desc("instance_state", "Always 1; the label state says how the bot stands.", "namespace", "agent", "state"),
		condition: desc("instance_condition", "1 if a condition of the bot is True, otherwise 0.", "namespace", "agent", "condition", "reason"),
		pending: desc("instance_pending_change",
			"1 while something that was delivered to the bot is not acknowledged; effect is Reload or Restart.", "namespace", "agent", "effect"),
		rejected: desc("instance_rejected", "1 while the bot's kernel refuses the revision that is delivered to it.", "namespace", "agent"),
		sequence: desc("instance_sequence", "Sequence number of the revision that is delivered to the bot.", "namespace", "agent"),
		plugin:   desc("plugin_state", "Always 1; the label state is the worst over the bots that use the Plugin.", "namespace", "plugin", "state"),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.objects, c.state, c.condition, c.pending, c.rejected, c.sequence, c.plugin} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	c.bots(ctx, out)
	c.plugins(ctx, out)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c *Collector) bots(ctx context.Context, out chan<- prometheus.Metric) {
	var list v1alpha1.AgentInstanceList
	if err := c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(c.objects, err)
		return
	}
	out <- gauge(c.objects, float64(len(list.Items)), v1alpha1.KindAgentInstance)
	for i := range list.Items[:min(len(list.Items), MaxBots)] {
		in := &list.Items[i]
		if s := in.Status.State; s != "" {
			out <- gauge(c.state, 1, in.Namespace, in.Name, string(s))
		}
		for _, kind := range Conditions() {
			condition := meta.FindStatusCondition(in.Status.Conditions, kind)
			if condition == nil {
				continue
			}
			value := 0.0
			if condition.Status == metav1.ConditionTrue {
				value = 1
			}
			out <- gauge(c.condition, value, in.Namespace, in.Name, kind, condition.Reason)
		}
		if p := in.Status.PendingChange; p != nil {
			out <- gauge(c.pending, 1, in.Namespace, in.Name, p.Effect)
		}
		refused := 0.0
		if ready := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == v1alpha1.ReasonRevisionRejected {
			refused = 1
		}
		out <- gauge(c.rejected, refused, in.Namespace, in.Name)
		if n := in.Status.Sequence; n != nil {
			out <- gauge(c.sequence, float64(*n), in.Namespace, in.Name)
		}
	}
}

func (c *Collector) plugins(ctx context.Context, out chan<- prometheus.Metric) {
	var list v1alpha1.PluginList
	if err := c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(c.objects, err)
		return
	}
	out <- gauge(c.objects, float64(len(list.Items)), v1alpha1.KindPlugin)
	for i := range list.Items[:min(len(list.Items), MaxPlugins)] {
		p := &list.Items[i]
		if s := p.Status.State; s != "" {
			out <- gauge(c.plugin, 1, p.Namespace, p.Name, string(s))
		}
	}
}

var _ prometheus.Collector = (*Collector)(nil)

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

const (
	// MetricsPort serves probes and metrics in every pod.
	MetricsPort = 9090
	// MetricsPortName is its name.
	MetricsPortName = "metrics"

	// portField is the config field by which a module says on which port it serves.
	portField   = "port"
	maxPortName = 15
)

// servedPort is a TCP port that a plugin serves.
type servedPort struct {
	name   string
	number int32
}

// servedPorts lists the ports of the plugins that are not disabled, sorted by number, each number once. A second
// plugin with the same short name has its port named after the number.
func servedPorts(config kernelconfig.Config, cat catalog.Catalog) []servedPort {
	var ports []servedPort
	numbers, names := map[int32]bool{MetricsPort: true}, map[string]bool{MetricsPortName: true}
	for _, p := range config.Plugins {
		module, ok := cat.Lookup(p.Module)
		if p.Disabled || !ok {
			continue
		}
		number, ok := pluginPort(p, module)
		if !ok || numbers[number] {
			continue
		}
		name := module.ShortName
		if len(name) > maxPortName || name == "" || names[name] {
			name = fmt.Sprintf("port-%d", number)
		}
		numbers[number], names[name] = true, true
		ports = append(ports, servedPort{name: name, number: number})
	}
	slices.SortFunc(ports, func(a, b servedPort) int { return int(a.number) - int(b.number) })
	return ports
}

// pluginPort reads the field port of a plugin's config, or its default.
func pluginPort(p kernelconfig.Plugin, module catalog.Module) (int32, bool) {
	field, ok := module.Config.Field(portField)
	if !ok || field.Type != schema.Integer {
		return 0, false
	}
	value, ok := p.Config[portField]
	if !ok {
		value = field.Default
	}
	var n float64
	switch v := value.(type) {
	case float64:
		n = v
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, false
		}
		n = f
	}
	if n < 1 || n > math.MaxUint16 || n != math.Trunc(n) {
		return 0, false
	}
	return int32(n), true
}

func service(in *v1alpha1.AgentInstance, ports []servedPort) *corev1.Service {
	spec := corev1.ServiceSpec{
		Type:     corev1.ServiceTypeClusterIP,
		Selector: selectorLabels(in.Name),
	}
	for _, p := range append(slices.Clone(ports), servedPort{name: MetricsPortName, number: MetricsPort}) {
		spec.Ports = append(spec.Ports, corev1.ServicePort{
			Name: p.name, Port: p.number, TargetPort: intstr.FromInt32(p.number), Protocol: corev1.ProtocolTCP,
		})
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: objectMeta(in, ChildName(in.Name)),
		Spec:       spec,
	}
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"net/netip"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/telemetry"
)

// Options are the operator's own settings.
type Options struct {
	// RuntimeImage runs where an instance names none. It needs no entry in AllowedImages.
	RuntimeImage string
	// AllowedImages are patterns of the images that instances may name; '*' matches any run of characters.
	AllowedImages []string
	// APIServers are the addresses of the Kubernetes API server that pods may reach.
	APIServers []netip.AddrPort
	// Tracing is where the kernels send spans, if anywhere.
	Tracing telemetry.Options
	// DNS are addresses of name servers outside the cluster's pods, such as a node-local cache. The pods of the
	// namespace kube-system are always allowed on port 53.
	DNS []netip.Prefix
}

// Input is what one instance is rendered from.
type Input struct {
	// Instance is the bot. Its UID goes into the owner references.
	Instance *v1alpha1.AgentInstance
	// Config is what the bot's kernel is to run: it decides ports, mounted Secret keys and network rules.
	Config kernelconfig.Config
	// Slots are the content of the ConfigMap.
	Slots kernelconfig.Slots
	// Inputs is the value of the ConfigMap's annotation v1alpha1.AnnotationInputs; without one if empty.
	Inputs string
	// Catalog knows the defaults of the modules' configs.
	Catalog catalog.Catalog
	// Options of the operator.
	Options Options
}

// Object is a Kubernetes object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects are the children of one instance.
type Objects struct {
	ServiceAccount *corev1.ServiceAccount
	Role           *rbacv1.Role
	RoleBinding    *rbacv1.RoleBinding
	ConfigMap      *corev1.ConfigMap
	NetworkPolicy  *networkingv1.NetworkPolicy
	AgentReplica   *v1alpha1.AgentReplica
	Service        *corev1.Service
	StatefulSet    *appsv1.StatefulSet
}

// List gives the objects in the order in which they are applied: what a pod needs comes before the pod.
func (o Objects) List() []Object {
	return []Object{
		o.ServiceAccount, o.Role, o.RoleBinding, o.ConfigMap, o.NetworkPolicy, o.AgentReplica, o.Service, o.StatefulSet,
	}
}

// Render makes the children of an instance. The errors are an *ImageNotAllowedError, or say which input is missing.
func Render(in Input) (Objects, error) {
	if in.Instance == nil {
		return Objects{}, errors.New("rendering: the instance must be given")
	}
	image, err := Image(in.Instance, in.Options)
	if err != nil {
		return Objects{}, err
	}
	configMap, err := configMap(in)
	if err != nil {
		return Objects{}, fmt.Errorf("rendering the ConfigMap of %s: %w", in.Instance.Name, err)
	}
	ports := servedPorts(in.Config, in.Catalog)
	return Objects{
		ServiceAccount: serviceAccount(in.Instance),
		Role:           role(in.Instance),
		RoleBinding:    roleBinding(in.Instance),
		ConfigMap:      configMap,
		NetworkPolicy:  networkPolicy(in, ports),
		AgentReplica:   agentReplica(in.Instance),
		Service:        service(in.Instance, ports),
		StatefulSet:    statefulSet(in, image, ports),
	}, nil
}

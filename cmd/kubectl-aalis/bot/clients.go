// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Clients read the two API groups that the commands need.
type Clients struct {
	core, aalis rest.Interface
}

// NewClients makes clients from the caller's kubeconfig.
func NewClients(config *rest.Config) (*Clients, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	if err := aalisv1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	client := func(gv schema.GroupVersion, path string) (rest.Interface, error) {
		c := rest.CopyConfig(config)
		c.GroupVersion, c.APIPath = &gv, path
		c.NegotiatedSerializer = codecs.WithoutConversion()
		return rest.RESTClientFor(c)
	}
	core, err := client(corev1.SchemeGroupVersion, "/api")
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	aalis, err := client(aalisv1alpha1.GroupVersion, "/apis")
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	return &Clients{core: core, aalis: aalis}, nil
}

// Names lists the bots of a namespace.
func Names(ctx context.Context, c *Clients, namespace string) ([]string, error) {
	var list aalisv1alpha1.AgentInstanceList
	if err := c.aalis.Get().Namespace(namespace).Resource("agentinstances").Do(ctx).Into(&list); err != nil {
		return nil, fmt.Errorf("listing bots: %w", err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

func (c *Clients) instance(ctx context.Context, namespace, name string) (*aalisv1alpha1.AgentInstance, error) {
	out := &aalisv1alpha1.AgentInstance{}
	err := c.aalis.Get().Namespace(namespace).Resource("agentinstances").Name(name).
		VersionedParams(&metav1.GetOptions{}, metav1.ParameterCodec).Do(ctx).Into(out)
	return out, err
}

func (c *Clients) plugin(ctx context.Context, namespace, name string) (*aalisv1alpha1.Plugin, error) {
	out := &aalisv1alpha1.Plugin{}
	err := c.aalis.Get().Namespace(namespace).Resource("plugins").Name(name).Do(ctx).Into(out)
	return out, err
}

func (c *Clients) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	out := &corev1.Secret{}
	err := c.core.Get().Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(out)
	return out, err
}

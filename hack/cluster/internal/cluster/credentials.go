// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/pki"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/render"
)

// requests returns all certificates of the cluster.
func (c *Cluster) requests() []pki.Request {
	requests := []pki.Request{
		{Name: "etcd", Authority: "etcd-ca", User: "etcd", Usage: pki.Peer, Hosts: []string{"127.0.0.1", "localhost"}},
		{Name: "etcd-client", Authority: "etcd-ca", User: "kube-apiserver", Usage: pki.Client},
		{
			Name: "apiserver", Authority: "ca", User: "kube-apiserver", Usage: pki.Server,
			Hosts: []string{
				"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + layout.Domain,
				"localhost", "127.0.0.1", layout.ServiceIP, c.Main().Address,
			},
		},
		{Name: "apiserver-kubelet", Authority: "ca", User: "kube-apiserver-kubelet-client", Usage: pki.Client},
		{Name: compController, Authority: "ca", User: "system:kube-controller-manager", Usage: pki.Client},
		{Name: compScheduler, Authority: "ca", User: "system:kube-scheduler", Usage: pki.Client},
		{Name: compProxy, Authority: "ca", User: "system:kube-proxy", Usage: pki.Client},
		{Name: compRouter, Authority: "ca", User: "kube-router", Usage: pki.Client},
		{Name: "admin", Authority: "ca", User: "aalis-admin", Groups: []string{"system:masters"}, Usage: pki.Client},
	}
	for _, n := range c.Nodes {
		user, groups := "system:node:"+n.Name, []string{"system:nodes"}
		requests = append(requests,
			pki.Request{Name: "kubelet-" + n.Name, Authority: "ca", User: user, Groups: groups, Usage: pki.Client},
			pki.Request{Name: "kubelet-serving-" + n.Name, Authority: "ca", User: user, Groups: groups, Usage: pki.Server, Hosts: []string{n.Name, n.Address}},
		)
	}
	return requests
}

// ensureCredentials makes keys and certificates, and the kubeconfigs from them.
func (c *Cluster) ensureCredentials() error {
	s := c.store()
	if err := s.Ensure([]string{"ca", "etcd-ca"}, c.requests(), []string{"service-accounts"}); err != nil {
		return err
	}
	names := []string{compController, compScheduler, compProxy, compRouter}
	for _, n := range c.Nodes {
		names = append(names, "kubelet-"+n.Name)
	}
	for _, name := range names {
		if err := c.writeKubeconfig(c.componentKubeconfig(name), name); err != nil {
			return err
		}
	}
	return c.writeKubeconfig(c.Kubeconfig(), "admin")
}

func (c *Cluster) writeKubeconfig(file, name string) error {
	s := c.store()
	creds := render.Credentials{User: name}
	for path, into := range map[string]*[]byte{s.Cert("ca"): &creds.CA, s.Cert(name): &creds.Cert, s.Key(name): &creds.Key} {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading what goes into the kubeconfig of %s: %w", name, err)
		}
		*into = data
	}
	text, err := render.Kubeconfig(c.APIServer(), creds)
	if err != nil {
		return err
	}
	return writeIfChanged(file, text, 0o600)
}

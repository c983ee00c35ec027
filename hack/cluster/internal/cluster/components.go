// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/pki"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/proc"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

// Names of the components; they name records and logs too.
const (
	compEtcd       = "etcd"
	compAPIServer  = "kube-apiserver"
	compController = "kube-controller-manager"
	compScheduler  = "kube-scheduler"
	compContainerd = "containerd"
	compKubelet    = "kubelet"
	compProxy      = "kube-proxy"
	compRouter     = "kube-router"
)

// component is one process of the cluster.
type component struct {
	proc.Spec
	// ready returns nil when the process serves; nil means that running is all
	// that can be asked.
	ready func(ctx context.Context) error
}

// components returns all processes, in the order in which they are started.
func (c *Cluster) components(paths tools.Paths) []component {
	all := []component{c.etcd(paths), c.apiserver(paths), c.controllerManager(paths), c.scheduler(paths)}
	for _, n := range c.Nodes {
		all = append(all, containerd(n), c.kubelet(paths, n), c.proxy(paths, n), c.router(paths, n))
	}
	return all
}

func (c *Cluster) store() pki.Store { return pki.Store{Dir: c.PKI()} }

func (c *Cluster) etcd(paths tools.Paths) component {
	s := c.store()
	client := fmt.Sprintf("https://127.0.0.1:%d", layout.PortEtcd)
	peer := fmt.Sprintf("http://127.0.0.1:%d", layout.PortEtcdPeer)
	metrics := fmt.Sprintf("http://127.0.0.1:%d", layout.PortEtcdMetrics)
	return component{
		Spec: proc.Spec{
			Name: compEtcd,
			Argv: []string{
				paths["etcd"],
				"--name=aalis",
				"--data-dir=" + filepath.Join(c.State, "etcd"),
				"--listen-client-urls=" + client,
				"--advertise-client-urls=" + client,
				"--listen-peer-urls=" + peer,
				"--initial-advertise-peer-urls=" + peer,
				"--initial-cluster=aalis=" + peer,
				"--listen-metrics-urls=" + metrics,
				"--client-cert-auth=true",
				"--trusted-ca-file=" + s.Cert("etcd-ca"),
				"--cert-file=" + s.Cert("etcd"),
				"--key-file=" + s.Key("etcd"),
				"--auto-compaction-mode=periodic",
				"--auto-compaction-retention=5m",
				"--log-level=warn",
			},
			Inputs: []string{s.Cert("etcd-ca"), s.Cert("etcd")},
		},
		ready: httpReady(metrics + "/health"),
	}
}

func containerd(node layout.Node) component {
	config := filepath.Join(node.Config(), "containerd.toml")
	return component{
		Spec: proc.Spec{
			Name:   node.Component(compContainerd),
			Argv:   node.Enter("containerd", "--config", config, "--log-level", "warn"),
			Inputs: []string{config},
		},
		ready: ctr(node).Ready,
	}
}

func (c *Cluster) apiserver(paths tools.Paths) component {
	s := c.store()
	policy := filepath.Join(c.Config(), "audit-policy.yaml")
	return component{
		Spec: proc.Spec{
			Name: compAPIServer,
			Argv: []string{
				paths["kube-apiserver"],
				"--bind-address=" + c.Main().Address,
				"--advertise-address=" + c.Main().Address,
				fmt.Sprintf("--secure-port=%d", layout.PortAPIServer),
				fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", layout.PortEtcd),
				"--etcd-cafile=" + s.Cert("etcd-ca"),
				"--etcd-certfile=" + s.Cert("etcd-client"),
				"--etcd-keyfile=" + s.Key("etcd-client"),
				"--client-ca-file=" + s.Cert("ca"),
				"--tls-cert-file=" + s.Cert("apiserver"),
				"--tls-private-key-file=" + s.Key("apiserver"),
				"--kubelet-certificate-authority=" + s.Cert("ca"),
				"--kubelet-client-certificate=" + s.Cert("apiserver-kubelet"),
				"--kubelet-client-key=" + s.Key("apiserver-kubelet"),
				// The names of nodes do not resolve.
				"--kubelet-preferred-address-types=InternalIP",
				"--service-account-issuer=https://kubernetes.default.svc." + layout.Domain,
				"--service-account-key-file=" + s.Public("service-accounts"),
				"--service-account-signing-key-file=" + s.Key("service-accounts"),
				"--service-cluster-ip-range=" + layout.ServiceCIDR,
				"--authorization-mode=Node,RBAC",
				"--enable-admission-plugins=NodeRestriction",
				"--allow-privileged=true",
				"--audit-policy-file=" + policy,
				"--audit-log-path=" + c.AuditLog(),
				"--audit-log-maxsize=64",
				"--audit-log-maxbackup=2",
				"--profiling=false",
			},
			Inputs: []string{policy, s.Cert("ca"), s.Cert("apiserver"), s.Cert("apiserver-kubelet"), s.Cert("etcd-client"), s.Public("service-accounts")},
		},
		ready: c.apiReady,
	}
}

func (c *Cluster) controllerManager(paths tools.Paths) component {
	s := c.store()
	kubeconfig := c.componentKubeconfig(compController)
	return component{
		Spec: proc.Spec{
			Name: compController,
			Argv: []string{
				paths["kube-controller-manager"],
				"--kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", layout.PortControllerManager),
				"--service-account-private-key-file=" + s.Key("service-accounts"),
				"--root-ca-file=" + s.Cert("ca"),
				"--cluster-signing-cert-file=" + s.Cert("ca"),
				"--cluster-signing-key-file=" + s.Key("ca"),
				"--use-service-account-credentials=true",
				// Each controller asks for a token of its own when it starts; with
				// the usual rates that takes seconds.
				"--kube-api-qps=200",
				"--kube-api-burst=400",
				"--leader-elect=false",
				"--profiling=false",
			},
			Inputs: []string{kubeconfig, s.Cert("ca"), s.Public("service-accounts")},
		},
		ready: httpsReady(layout.PortControllerManager),
	}
}

func (c *Cluster) scheduler(paths tools.Paths) component {
	kubeconfig := c.componentKubeconfig(compScheduler)
	return component{
		Spec: proc.Spec{
			Name: compScheduler,
			Argv: []string{
				paths["kube-scheduler"],
				"--kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", layout.PortScheduler),
				"--leader-elect=false",
				"--profiling=false",
			},
			Inputs: []string{kubeconfig},
		},
		ready: httpsReady(layout.PortScheduler),
	}
}

func (c *Cluster) kubelet(paths tools.Paths, node layout.Node) component {
	s := c.store()
	kubeconfig := c.componentKubeconfig("kubelet-" + node.Name)
	config := filepath.Join(node.Config(), "kubelet.yaml")
	return component{
		Spec: proc.Spec{
			Name: node.Component(compKubelet),
			Argv: node.Enter(
				paths["kubelet"],
				"--config="+config,
				"--kubeconfig="+kubeconfig,
				"--root-dir="+filepath.Join(node.Dir, "kubelet"),
				"--cert-dir="+filepath.Join(node.Dir, "kubelet", "pki"),
				"--hostname-override="+node.Name,
				"--node-ip="+node.Address,
			),
			Inputs: []string{config, kubeconfig, s.Cert("ca"), s.Cert("kubelet-serving-" + node.Name), filepath.Join(node.Config(), "resolv.conf")},
		},
		ready: httpReady(fmt.Sprintf("http://%s:%d/healthz", node.Health, layout.PortKubeletHealth)),
	}
}

func (c *Cluster) proxy(paths tools.Paths, node layout.Node) component {
	config := filepath.Join(node.Config(), "kube-proxy.yaml")
	return component{
		Spec: proc.Spec{
			Name:   node.Component(compProxy),
			Argv:   node.Enter(paths["kube-proxy"], "--config="+config),
			Inputs: []string{config, c.componentKubeconfig(compProxy)},
		},
		ready: httpReady(fmt.Sprintf("http://%s:%d/healthz", node.Health, layout.PortProxyHealth)),
	}
}

func (c *Cluster) router(paths tools.Paths, node layout.Node) component {
	kubeconfig := c.componentKubeconfig(compRouter)
	return component{Spec: proc.Spec{
		Name: node.Component(compRouter),
		Argv: node.Enter(
			paths["kube-router"],
			"--kubeconfig="+kubeconfig,
			"--node-name="+node.Name,
			"--service-cidr="+layout.ServiceCIDR,
		),
		Inputs: []string{kubeconfig},
	}}
}

func (c *Cluster) componentKubeconfig(name string) string {
	return filepath.Join(c.Config(), name+".kubeconfig")
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout says where everything of the development cluster lives:
// folders, addresses, ports and names. Every other package of hack/cluster
// takes a Layout; none of them invents a path or an address. It reads nothing
// but the environment values handed to New, and changes nothing.
package layout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Names and addresses of the one cluster that a machine can run.
const (
	// Name is the cluster's name in kubeconfigs and certificates.
	Name = "aalis"
	// Domain is the DNS domain of the cluster.
	Domain = "cluster.local"
	// RunDir holds sockets and whatever must not outlive a reboot. Its path is
	// short because socket paths may have 107 bytes at most.
	RunDir = "/run/aalis-cluster"
	// CgroupRoot is the parent of every pod's cgroup, in each hierarchy.
	CgroupRoot = "/aalis-cluster"
	// CNIPlugins is where Debian keeps the CNI plugins.
	CNIPlugins = "/usr/lib/cni"

	// ClusterCIDR holds the pod ranges of all nodes.
	ClusterCIDR = "10.244.0.0/16"
	// ServiceCIDR is the range of cluster addresses.
	ServiceCIDR = "10.96.0.0/16"
	// ServiceIP is the address of the kubernetes Service.
	ServiceIP = "10.96.0.1"
	// DNSIP is the address of the cluster's DNS Service.
	DNSIP = "10.96.0.10"
)

// Ports are not the usual ones, so that another Kubernetes or etcd on the
// machine does not clash. They are bound to loopback or a bridge address only.
const (
	PortAPIServer         = 16443
	PortEtcd              = 12379
	PortEtcdPeer          = 12380
	PortEtcdMetrics       = 12381
	PortControllerManager = 11257
	PortScheduler         = 11259
	PortKubelet           = 11250
	PortKubeletHealth     = 11248
	PortProxyHealth       = 11256
	PortProxyMetrics      = 11249
)

// MaxNodes is how many nodes a cluster may have.
const MaxNodes = 2

// Node is one node of the cluster. The first has the machine's own network; the
// second has a network namespace of its own, with a link to the machine.
type Node struct {
	// Number counts from 1.
	Number int
	// Name is the node's name in the API.
	Name string
	// Bridge is the name of the bridge that its pods hang on.
	Bridge string
	// Address is the bridge's own address: the node's address.
	Address string
	// Gateway is Address with the length of the pod range's prefix.
	Gateway string
	// PodCIDR is the node's pod range.
	PodCIDR string
	// Dir holds the node's data (container images, kubelet); RunDir its sockets.
	Dir, RunDir string
	// CgroupRoot is the parent of its pods' cgroups: the kubelet removes what
	// it does not know there.
	CgroupRoot string
	// Health is the address where its processes tell how they are.
	Health string
	// Link leads to the node's network namespace; nil for the first node.
	Link *Link
}

// Link is a pair of interfaces between the machine and a network namespace.
type Link struct {
	// Namespace is the file that keeps the network namespace.
	Namespace string
	// Name is the machine's end; the other end is eth0.
	Name string
	// Near and Far are the addresses of the machine's end and of the other.
	Near, Far string
	// Prefix is the length of their range's prefix.
	Prefix int
}

// Component is the name of the node's process of a kind: that of the kind for
// the first node, with the node's number for others.
func (n Node) Component(kind string) string {
	if n.Number == 1 {
		return kind
	}
	return fmt.Sprintf("%s-%d", kind, n.Number)
}

// Enter is the command line that starts a program in the node's network.
func (n Node) Enter(argv ...string) []string {
	if n.Link == nil {
		return argv
	}
	return append([]string{"nsenter", "--net=" + n.Link.Namespace, "--"}, argv...)
}

// Socket is the node's containerd socket.
func (n Node) Socket() string { return filepath.Join(n.RunDir, "containerd.sock") }

// Config is the folder of the node's rendered configuration.
func (n Node) Config() string { return filepath.Join(n.Dir, "config") }

// Layout is where one cluster keeps its things.
type Layout struct {
	// Repo is the root of the source tree.
	Repo string
	// State is the folder of everything that belongs to the cluster.
	State string
	// Run is RunDir; tests set another.
	Run string
	// Cache holds built binaries and images; it outlives the cluster.
	Cache string
	// Nodes has one element, or as many as WithNodes has set.
	Nodes []Node
}

// Env is the part of the environment that decides the folders.
type Env struct {
	ClusterDir string // AALIS_CLUSTER_DIR
	CacheHome  string // XDG_CACHE_HOME
	StateHome  string // XDG_STATE_HOME
	Home       string // HOME
}

// New returns the layout for a source tree and an environment. Relative paths
// are made absolute; the state folder may not be a system folder, because it is
// removed as a whole when the cluster is taken down.
func New(repo string, env Env) (Layout, error) {
	home := func(set, fallback string) (string, error) {
		if set != "" {
			return set, nil
		}
		if env.Home == "" {
			return "", errors.New("neither HOME nor the XDG folders are set")
		}
		return filepath.Join(env.Home, fallback), nil
	}
	cache, err := home(env.CacheHome, ".cache")
	if err != nil {
		return Layout{}, err
	}
	state := env.ClusterDir
	if state == "" {
		base, err := home(env.StateHome, ".local/state")
		if err != nil {
			return Layout{}, err
		}
		state = filepath.Join(base, "aalis-operator", "cluster")
	}
	if state, err = filepath.Abs(state); err != nil {
		return Layout{}, fmt.Errorf("finding the cluster folder: %w", err)
	}
	if err := checkState(state, env.Home); err != nil {
		return Layout{}, err
	}
	l := Layout{
		Repo:  repo,
		State: state,
		Run:   RunDir,
		Cache: filepath.Join(cache, "aalis-operator"),
	}
	return l.WithNodes(1), nil
}

// WithNodes is the layout with a number of nodes, from 1 to MaxNodes.
func (l Layout) WithNodes(count int) Layout {
	l.Nodes = nil
	for number := 1; number <= min(max(count, 1), MaxNodes); number++ {
		l.Nodes = append(l.Nodes, l.node(number))
	}
	return l
}

func (l Layout) node(number int) Node {
	name := fmt.Sprintf("aalis-%d", number)
	subnet := fmt.Sprintf("10.244.%d.", number-1)
	n := Node{
		Number:     number,
		Name:       name,
		Bridge:     fmt.Sprintf("aalis%d", number-1),
		Address:    subnet + "1",
		Gateway:    subnet + "1/24",
		PodCIDR:    subnet + "0/24",
		Dir:        filepath.Join(l.State, name),
		RunDir:     filepath.Join(l.Run, strconv.Itoa(number)),
		CgroupRoot: CgroupRoot,
		Health:     "127.0.0.1",
	}
	if number > 1 {
		n.CgroupRoot, n.Health = CgroupRoot+"/"+name, n.Address
		n.Link = &Link{
			Namespace: filepath.Join(n.RunDir, "network"),
			Name:      fmt.Sprintf("aalis-link%d", number),
			Near:      "10.244.255.1", Far: "10.244.255.2", Prefix: 30,
		}
	}
	return n
}

// checkState refuses folders whose removal would hurt more than a cluster.
func checkState(state, home string) error {
	if filepath.Dir(state) == "/" || state == "/" || state == filepath.Clean(home) {
		return fmt.Errorf("cluster folder %s: must not be the root folder, a top folder or the home folder, for it is removed with the cluster", state)
	}
	if entries, err := os.ReadDir(state); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(state, Marker)); err != nil {
			return fmt.Errorf("cluster folder %s: exists, is not empty and holds no cluster (no file %s); name an empty or a new folder", state, Marker)
		}
	}
	return nil
}

// Marker is the file that makes a folder a cluster's folder.
const Marker = ".aalis-cluster"

// Main is the node that the control plane runs beside.
func (l Layout) Main() Node { return l.Nodes[0] }

// Bin is the folder of built binaries.
func (l Layout) Bin() string { return filepath.Join(l.Cache, "bin") }

// PKI is the folder of keys and certificates.
func (l Layout) PKI() string { return filepath.Join(l.State, "pki") }

// Config is the folder of rendered configuration.
func (l Layout) Config() string { return filepath.Join(l.State, "config") }

// Logs is the folder of the processes' logs.
func (l Layout) Logs() string { return filepath.Join(l.State, "logs") }

// Pids is the folder of the process records.
func (l Layout) Pids() string { return filepath.Join(l.State, "pids") }

// Volumes is the folder of the default StorageClass's volumes.
func (l Layout) Volumes() string { return filepath.Join(l.State, "volumes") }

// AuditLog is the API server's audit log.
func (l Layout) AuditLog() string { return filepath.Join(l.Logs(), "audit.log") }

// Kubeconfig is the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State, "kubeconfig") }

// APIServer is the API server's URL.
func (l Layout) APIServer() string {
	return fmt.Sprintf("https://%s:%d", l.Main().Address, PortAPIServer)
}

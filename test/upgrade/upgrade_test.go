// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

const (
	root    = "../.."
	chart   = root + "/charts/aalis-operator"
	release = "up"
)

var env = testenv.Environment{NoCRDs: true}

func TestMain(m *testing.M) { os.Exit(env.Run(m)) }

// helm runs the pinned Helm as an administrator.
func helm(t *testing.T, kubeconfig string, args ...string) {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "tool.sh"), "helm").Output()
	if err != nil {
		t.Fatalf("building helm: %v", err)
	}
	args = append(args, "--kubeconfig", kubeconfig, "--namespace", "up-system")
	if out, err := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args...).CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
}

// chartOf makes the chart with the CRDs of an earlier release.
func chartOf(t *testing.T, crds string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "aalis-operator")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "files", "crds")
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(target, os.DirFS(crds)); err != nil {
		t.Fatal(err)
	}
	return dir
}

const bots = 5

// TestUpgrade installs each earlier release, lets bots run, upgrades to this tree's chart and its operator, and uninstalls:
// no object is lost or changed, and no bot is restarted or given anything anew.
func TestUpgrade(t *testing.T) {
	releases, err := filepath.Glob(filepath.Join("testdata", "*-crds"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("no earlier releases: %v", err)
	}
	for _, crds := range releases {
		t.Run(filepath.Base(crds), func(t *testing.T) { upgrade(t, crds) })
		removeCRDs(t)
	}
}

func upgrade(t *testing.T, crds string) {
	t.Helper()
	env.Start(t)
	kubeconfig := env.Administrator(t, "helm")
	helm(t, kubeconfig, "install", release, chartOf(t, crds), "--create-namespace")
	served(t)
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	operator := env.StartOperator(t, []string{ns}, nil)
	env.Create(t, testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl."))
	for i := range bots {
		env.Create(t, testenv.Instance(ns, fmt.Sprintf("bot-%d", i)))
	}
	allReady(t, ns)
	operator.Quiet(t)
	before := look(t, ns)
	operator.Stop(t)

	helm(t, kubeconfig, "upgrade", release, chart)
	served(t)
	operator = env.StartOperator(t, []string{ns}, nil)
	operator.Quiet(t)
	allReady(t, ns)
	if diff := cmp.Diff(before, look(t, ns)); diff != "" {
		t.Errorf("the upgrade changed (-before +after):\n%s", diff)
	}
	if n := operator.Writes.Total(); n != 0 {
		t.Errorf("the operator wrote after the upgrade: %s", operator.Writes)
	}

	// A change goes through as ever.
	persona := testenv.Persona(ns, "owl", "")
	testenv.Edit(t, &env, persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a new owl." })
	allReady(t, ns)

	helm(t, kubeconfig, "uninstall", release, "--wait=hookOnly")
	after := look(t, ns)
	if len(after) != len(before) {
		t.Errorf("uninstalling the chart left %d of %d objects", len(after), len(before))
	}
}

// served waits until the API server serves the kinds.
func served(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, func() error {
		for _, list := range []client.ObjectList{
			&v1alpha1.AgentInstanceList{}, &v1alpha1.PluginList{}, &v1alpha1.PersonaList{}, &v1alpha1.ServicePreferenceList{},
			&v1alpha1.AuthorityPolicyList{}, &v1alpha1.AgentReplicaList{},
		} {
			if err := env.Client().List(t.Context(), list); err != nil {
				return err
			}
		}
		return nil
	})
}

func allReady(t *testing.T, ns string) {
	t.Helper()
	for i := range bots {
		bot := testenv.Instance(ns, fmt.Sprintf("bot-%d", i))
		testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
			return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
		})
	}
	testenv.WaitFor(t, &env, testenv.Persona(ns, "owl", ""), func(p *v1alpha1.Persona) error {
		if p.Status.Usage == nil || *p.Status.Usage.Applied != bots {
			return fmt.Errorf("status %+v", p.Status)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, "", false, false)
	})
}

// state is what must not change of an object: who it is, how often its spec changed, and what it says.
type state struct {
	UID        string
	Generation int64
	Spec       any
	Status     any
}

// look reads all objects of ours, and the pods and StatefulSets.
func look(t *testing.T, ns string) map[string]state {
	t.Helper()
	out := map[string]state{}
	for _, gvk := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("AgentInstance"), v1alpha1.GroupVersion.WithKind("AgentReplica"),
		v1alpha1.GroupVersion.WithKind("Plugin"), v1alpha1.GroupVersion.WithKind("Persona"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"), corev1.SchemeGroupVersion.WithKind("Pod"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := env.Client().List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for _, u := range list.Items {
			out[gvk.Kind+" "+u.GetName()] = state{string(u.GetUID()), u.GetGeneration(), u.Object["spec"], u.Object["status"]}
		}
	}
	if want := 2 + 4*bots; len(out) != want {
		t.Fatalf("%d objects, want %d", len(out), want)
	}
	if _, ok := out["Pod "+render.PodName("bot-0")]; !ok {
		t.Fatal("there is no pod")
	}
	return out
}

// removeCRDs removes what uninstalling the chart has kept.
func removeCRDs(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		plural, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), "aalis.dev_"), ".")
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		crd.SetName(plural + ".aalis.dev")
		if err := env.Client().Delete(t.Context(), crd); client.IgnoreNotFound(err) != nil {
			t.Errorf("removing a CRD: %v", err)
		}
	}
}

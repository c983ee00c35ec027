package agentinstance_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

func rss(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	out := ""
	for _, l := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "RssAnon") || strings.HasPrefix(l, "RssFile") {
			out += strings.Join(strings.Fields(l), " ") + "; "
		}
	}
	return out
}

func TestHoldFigures(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	if err := os.WriteFile("/tmp/op.kubeconfig", env.KubeConfigForTest(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/tmp/aalis-operator", "--runtime-image", testenv.RuntimeImage, "--metrics-bind-address", "127.0.0.1:39471", "--health-probe-bind-address", "0")
	cmd.Env = append(os.Environ(), "KUBECONFIG=/tmp/op.kubeconfig")
	lf, _ := os.Create("/tmp/op.log")
	cmd.Stderr = lf
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	time.Sleep(15 * time.Second)
	t.Log("idle, no bots:", rss(cmd.Process.Pid))
	plugin, persona := testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl.")
	env.Create(t, plugin, persona)
	const n = 200
	start := time.Now()
	var bots []*v1alpha1.AgentInstance
	for i := range n {
		b := testenv.Instance(ns, fmt.Sprintf("bot-%d", i))
		env.Create(t, b)
		bots = append(bots, b)
	}
	t.Log("created in", time.Since(start))
	for _, b := range bots {
		active(t, b)
	}
	t.Log("all active after", time.Since(start))
	time.Sleep(20 * time.Second)
	t.Log("idle, 200 bots:", rss(cmd.Process.Pid))
	for i := range 12 {
		t0 := time.Now()
		testenv.Edit(t, &env, bots[3], func(in *v1alpha1.AgentInstance) { in.Spec.LogLevel = []string{"debug", "warn"}[i%2] })
		tEdit := time.Since(t0)
		testenv.WaitFor(t, &env, bots[3], func(in *v1alpha1.AgentInstance) error {
			if in.Status.ObservedGeneration == nil || *in.Status.ObservedGeneration != in.Generation {
				return fmt.Errorf("x")
			}
			return testenv.Condition(in.Status.Conditions, "Ready", metav1.ConditionTrue, "")
		})
		t.Log("edit to status", time.Since(t0), "of which edit call", tEdit)
	}
	t0 := time.Now()
	testenv.Edit(t, &env, persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a calm owl." })
	testenv.WaitFor(t, &env, persona, func(p *v1alpha1.Persona) error {
		if *p.Status.Usage.Applied != n || *p.Status.ObservedGeneration != p.Generation {
			return fmt.Errorf("%d", *p.Status.Usage.Applied)
		}
		return nil
	})
	t.Log("persona edit in 200 bots", time.Since(t0))
	time.Sleep(20 * time.Second)
	t.Log("idle after:", rss(cmd.Process.Pid))
	out, _ := exec.Command("curl", "-s", "http://127.0.0.1:39471/metrics").Output()
	_ = os.WriteFile("/tmp/op.metrics", out, 0o600)
}

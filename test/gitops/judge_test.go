// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"os"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

const (
	root   = "../.."
	script = root + "/config/gitops/argocd/health.lua"
)

var env testenv.Environment

func TestMain(m *testing.M) { os.Exit(env.Run(m)) }

// read reads an object anew, as a tool sees it.
func read(t *testing.T, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	env.Refresh(t, obj)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	gvks, _, err := env.Client().Scheme().ObjectKinds(obj)
	if err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvks[0])
	return u
}

// judgement is what the tools say of an object.
type judgement struct {
	kstatus status.Status
	argo    string
}

// judge asks both tools.
func judge(t *testing.T, u *unstructured.Unstructured) judgement {
	t.Helper()
	result, err := status.Compute(u)
	if err != nil {
		t.Fatalf("kstatus of %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	health, _ := argoHealth(t, u)
	return judgement{result.Status, health}
}

// argoHealth runs the shipped script as Argo CD does: in an interpreter with the object as obj.
func argoHealth(t *testing.T, u *unstructured.Unstructured) (health, message string) {
	t.Helper()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	// What Argo CD opens by default, without file or process access.
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		if err := vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	vm.SetGlobal("obj", toLua(vm, u.Object))
	source, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.DoString(string(source)); err != nil {
		t.Fatalf("health of %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	result, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned %s", vm.Get(-1).Type())
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func toLua(vm *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := vm.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(vm, item))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, item := range v {
			table.Append(toLua(vm, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// The judgements that the two tools give together.
var (
	inProgress  = judgement{status.InProgressStatus, "Progressing"}
	current     = judgement{status.CurrentStatus, "Healthy"}
	suspended   = judgement{status.CurrentStatus, "Suspended"}
	failed      = judgement{status.FailedStatus, "Degraded"}
	terminating = judgement{status.TerminatingStatus, "Progressing"}
)

// becomes waits until both tools say of every object what is wanted.
func becomes(t *testing.T, want judgement, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		testenv.Eventually(t, func() error {
			u := read(t, obj)
			if got := judge(t, u); got != want {
				return fmt.Errorf("%s %s is %v, want %v: %v", u.GetKind(), u.GetName(), got, want, u.Object["status"])
			}
			return nil
		})
	}
}

// is checks at once.
func is(t *testing.T, want judgement, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		u := read(t, obj)
		if got := judge(t, u); got != want {
			t.Errorf("%s %s is %v, want %v: %v", u.GetKind(), u.GetName(), got, want, u.Object["status"])
		}
	}
}

// preference and policy select the bots of testenv.
func preference(ns string) *v1alpha1.ServicePreference {
	return &v1alpha1.ServicePreference{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cheap"},
		Spec: v1alpha1.ServicePreferenceSpec{
			Service: "llm", Selector: &metav1.LabelSelector{}, Prefer: []v1alpha1.ProviderReference{{Plugin: "main", ID: "small"}},
		},
	}
}

func policy(ns string) *v1alpha1.AuthorityPolicy {
	return &v1alpha1.AuthorityPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "rules"},
		Spec: v1alpha1.AuthorityPolicySpec{
			Selector: &metav1.LabelSelector{}, Owners: []v1alpha1.Identity{{Platform: "onebot", UserID: "1"}},
		},
	}
}

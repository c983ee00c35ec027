// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestPickToken(t *testing.T) {
	tests := map[string]struct {
		data, person          string
		user, token, mistaken string
	}{
		"first one":          {data: "alice: secret-a\nbob: secret-b", user: "alice", token: "secret-a"},
		"by name":            {data: "alice: secret-a\nbob: secret-b", person: "bob", user: "bob", token: "secret-b"},
		"colon in the token": {data: "alice: a:b:c", user: "alice", token: "a:b:c"},
		"comments and blank": {data: "# people\n\n  alice :  secret-a  \r\n", user: "alice", token: "secret-a"},
		"nobody of the name": {data: "alice: secret-a", person: "carol", mistaken: `no token for "carol", only for alice`},
		"no line at all":     {data: "# none\nnonsense\n: x\ny:\n", mistaken: "has no line of the form"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			user, token, err := pickToken([]byte(tc.data), tc.person, "door")
			if tc.mistaken != "" {
				if err == nil || !strings.Contains(err.Error(), tc.mistaken) {
					t.Fatalf("want an error with %q, got %v", tc.mistaken, err)
				}
				if strings.Contains(err.Error(), "secret-a") {
					t.Errorf("the error shows a token: %v", err)
				}
				return
			}
			if err != nil || user != tc.user || token != tc.token {
				t.Errorf("got %q, %q, %v", user, token, err)
			}
		})
	}
}

func FuzzPickToken(f *testing.F) {
	f.Add("alice: x", "")
	f.Add("#\n:\n", "bob")
	f.Fuzz(func(t *testing.T, data, person string) {
		user, token, err := pickToken([]byte(data), person, "s")
		if err == nil && (user == "" || token == "" || (person != "" && user != person)) {
			t.Errorf("got %q, %q of %q for %q", user, token, data, person)
		}
	})
}

// fakeAPI serves the objects that it is given, by path, as the API server would.
func fakeAPI(t *testing.T, objects map[string]any) *Clients {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		obj, ok := objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			obj = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: "not found"}
		}
		if err := json.NewEncoder(w).Encode(obj); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := NewClients(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func typed(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: aalisv1alpha1.GroupVersion.String()}
}

func TestFindDoor(t *testing.T) {
	const base = "/apis/aalis.dev/v1alpha1/namespaces/team-a/"
	instance := func(plugins ...string) aalisv1alpha1.AgentInstance {
		inst := aalisv1alpha1.AgentInstance{TypeMeta: typed("AgentInstance"), ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: "team-a"}}
		for _, p := range plugins {
			inst.Spec.Plugins = append(inst.Spec.Plugins, aalisv1alpha1.InstancePlugin{Name: p})
		}
		return inst
	}
	plugin := func(name, module, config string) aalisv1alpha1.Plugin {
		p := aalisv1alpha1.Plugin{TypeMeta: typed("Plugin"), ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a"}}
		p.Spec.Module = module
		if config != "" {
			p.Spec.Config = &runtime.RawExtension{Raw: []byte(config)}
		}
		p.Spec.Secrets = []aalisv1alpha1.PluginSecret{{Path: "tokens", SecretKeyRef: aalisv1alpha1.SecretKeyReference{Name: "door", Key: "tokens"}}}
		return p
	}
	secret := corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Data: map[string][]byte{"tokens": []byte("alice: secret-a")}}
	noSecrets := plugin("door", "platform-openai", "")
	noSecrets.Spec.Secrets = nil
	tests := map[string]struct {
		objects map[string]any
		port    int
		want    string
	}{
		"default port": {objects: map[string]any{base + "agentinstances/hello": instance("main", "door"),
			base + "plugins/main": plugin("main", "llm-openai", ""), base + "plugins/door": plugin("door", "@aalis/plugin-platform-openai", ""),
			"/api/v1/namespaces/team-a/secrets/door": secret}, port: 8080},
		"configured port": {objects: map[string]any{base + "agentinstances/hello": instance("door"),
			base + "plugins/door": plugin("door", "platform-openai", `{"port":9000}`), "/api/v1/namespaces/team-a/secrets/door": secret}, port: 9000},
		"no bot":      {objects: map[string]any{}, want: `no AgentInstance "hello"`},
		"no plugin":   {objects: map[string]any{base + "agentinstances/hello": instance("gone")}, want: "no plugin of module platform-openai"},
		"no secret":   {objects: map[string]any{base + "agentinstances/hello": instance("door"), base + "plugins/door": plugin("door", "platform-openai", "")}, want: "reading the token"},
		"names none":  {objects: map[string]any{base + "agentinstances/hello": instance("door"), base + "plugins/door": noSecrets}, want: "nobody can talk to it"},
		"key missing": {objects: map[string]any{base + "agentinstances/hello": instance("door"), base + "plugins/door": plugin("door", "platform-openai", ""), "/api/v1/namespaces/team-a/secrets/door": corev1.Secret{TypeMeta: secret.TypeMeta}}, want: `has no key "tokens"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			door, err := FindDoor(t.Context(), fakeAPI(t, tc.objects), "team-a", "hello", "")
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("want an error with %q, got %v", tc.want, err)
				}
				return
			}
			if want := (Door{Pod: "aalis-hello-0", Port: tc.port, Person: "alice", Token: "secret-a"}); err != nil || door != want {
				t.Errorf("want %+v, got %+v, %v", want, door, err)
			}
		})
	}
}

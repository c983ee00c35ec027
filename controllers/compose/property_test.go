// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func shuffled[T any](t *rapid.T, list []T) []T {
	if len(list) < 2 {
		return list
	}
	return rapid.Permutation(list).Draw(t, "order")
}

// TestOrderDoesNotMatter shuffles every list of every golden input: the result, bytes included, stays the same, and the
// input is not touched.
func TestOrderDoesNotMatter(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := load(t, string(text))
		before, err := json.Marshal(base)
		if err != nil {
			t.Fatal(err)
		}
		want := Compose(base)
		if after, err := json.Marshal(base); err != nil || string(before) != string(after) {
			t.Fatalf("%s: Compose changed its input (%v)", file, err)
		}
		if filepath.Base(file) == "mistakes.yaml" {
			// Which of two entries for one module is the one too many depends on the order of spec.plugins; keep it.
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			in := base
			in.Instance = base.Instance.DeepCopy()
			in.Plugins, in.Personas = shuffled(t, base.Plugins), shuffled(t, base.Personas)
			in.ServicePreferences = shuffled(t, base.ServicePreferences)
			in.AuthorityPolicies = shuffled(t, base.AuthorityPolicies)
			in.Catalog.Modules = base.Catalog.Modules
			in.Instance.Spec.Plugins = shuffled(t, in.Instance.Spec.Plugins)
			got := Compose(in)
			got.Instance = want.Instance // it is the declared one, whose list was shuffled
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s (-want +got):\n%s", file, d)
			}
		})
	}
}

// TestRevisionFollowsContent: another prompt, another revision; the same content again, the same revision.
func TestRevisionFollowsContent(t *testing.T) {
	base := load(t, docs(doc("Persona", "p", "{prompt: x}"), bot("{personaRef: {name: p}}")))
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringN(1, 50, -1).Draw(t, "a")
		b := rapid.StringN(1, 50, -1).Draw(t, "b")
		revision := func(prompt string) string {
			in := base
			p := *base.Personas[0].DeepCopy()
			p.Spec.Prompt = "x" + prompt
			in.Personas = append(in.Personas[:0:0], p)
			r := Compose(in)
			config, err := r.Delivery.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			if config.Persona.Prompt != "x"+prompt {
				t.Fatalf("the prompt came out as %q", config.Persona.Prompt)
			}
			return r.Delivery.Revision
		}
		if (revision(a) == revision(b)) != (a == b) {
			t.Fatalf("revisions of %q and %q: %s, %s", a, b, revision(a), revision(b))
		}
	})
}

// FuzzConfig puts any bytes where people write: a plugin's config, its secret's path and key, a model id.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"temperature":1,"proxy":{"user":"x"}}`), "apiKey", "key", "gpt")
	f.Add([]byte(`{"proxy":[{}],"temperature":1e400}`), "proxy.password", "a\nb", "a/b:c")
	f.Add([]byte(`null`), "a..b", "..", " ")
	base := load(f, docs(
		doc("Plugin", "main", "{module: llm-openai, config: {}, secrets: [{path: x, secretKeyRef: {name: n, key: k}}]}"),
		bot("{plugins: [{name: main}], model: {plugin: main, id: x}}"),
	))
	f.Fuzz(func(t *testing.T, raw []byte, path, key, model string) {
		if !utf8.ValidString(path + key + model) {
			t.Skip("objects come from JSON or YAML, whose strings are UTF-8")
		}
		in := base
		in.Instance = base.Instance.DeepCopy()
		in.Instance.Spec.Model.ID = model
		p := *base.Plugins[0].DeepCopy()
		p.Spec.Config = &runtime.RawExtension{Raw: raw}
		p.Spec.Secrets[0].Path, p.Spec.Secrets[0].SecretKeyRef.Key = path, key
		in.Plugins = append(in.Plugins[:0:0], p)
		r := Compose(in)
		for _, problem := range r.Problems {
			if problem.Message == "" || problem.Object == "" || problem.Reason == "" || problem.Severity.rank() < 0 {
				t.Fatalf("incomplete problem %+v", problem)
			}
		}
		if !r.Deployable() {
			return
		}
		config, err := r.Delivery.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		again, err := kernelconfig.Pack(config, 0)
		if err != nil || again.Revision != r.Delivery.Revision {
			t.Fatalf("decoding and packing again gives %s, %v; want %s", again.Revision, err, r.Delivery.Revision)
		}
	})
}

// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernelconfig_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func sample() kernelconfig.Config {
	return kernelconfig.Config{
		Format: kernelconfig.Format, Name: "hello", Namespace: "team-a", LogLevel: "info", Language: "en", DrainTimeoutSeconds: 60,
		Plugins: []kernelconfig.Plugin{
			{ID: "@aalis/plugin-agent", Module: "@aalis/plugin-agent", Config: map[string]any{"historyLimit": 80.0}},
			{ID: "@aalis/plugin-llm-openai:main", Module: "@aalis/plugin-llm-openai",
				Config:  map[string]any{"baseUrl": "http://llm.example?a<b"},
				Secrets: []kernelconfig.Secret{{Path: "apiKey", Name: "llm", Key: "api-key"}}},
		},
		Preferences: []kernelconfig.Preference{{Service: "llm", Prefer: []string{"@aalis/plugin-llm-openai:main/gpt-4o-mini"}}},
		Model:       &kernelconfig.Model{Provider: "@aalis/plugin-llm-openai:main", ID: "gpt-4o-mini"},
		Persona:     &kernelconfig.Persona{Source: "night-owl", Name: "Night Owl", Prompt: "你是夜猫子 🦉"},
		Authority: &kernelconfig.Authority{
			Owners:             []kernelconfig.Identity{{Platform: "onebot", UserID: "1"}, {Platform: "openai", UserID: "a"}},
			Levels:             []kernelconfig.IdentityLevel{{Identity: kernelconfig.Identity{Platform: "onebot", UserID: "2"}, Level: -1}},
			DeniedCapabilities: []string{"a", "b"},
		},
	}
}

func TestEncodeIsIndependentOfOrder(t *testing.T) {
	want, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := sample()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		r.Shuffle(len(c.Plugins), func(i, j int) { c.Plugins[i], c.Plugins[j] = c.Plugins[j], c.Plugins[i] })
		o := c.Authority.Owners
		r.Shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
		d := c.Authority.DeniedCapabilities
		r.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
		got, err := c.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if string(got) != string(want) {
			rt.Fatalf("order changed the bytes:\n%s\n%s", got, want)
		}
	})
	if strings.Contains(string(want), `\u003c`) {
		t.Error("canonical bytes must not be HTML-escaped")
	}
}

func TestEncodeDoesNotChangeItsInput(t *testing.T) {
	c := sample()
	c.Plugins[0], c.Plugins[1] = c.Plugins[1], c.Plugins[0]
	first := c.Plugins[0].ID
	if _, err := c.Encode(); err != nil {
		t.Fatal(err)
	}
	if c.Plugins[0].ID != first {
		t.Error("Encode sorted the caller's list")
	}
}

func TestPackRoundTrip(t *testing.T) {
	d, err := kernelconfig.Pack(sample(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Revision) != 20 || d.Sequence != 7 {
		t.Errorf("unexpected header %+v", d)
	}
	data, binary, err := kernelconfig.Slots{Current: &d, LastGood: &d}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	slots, err := kernelconfig.ReadSlots(data, binary)
	if err != nil {
		t.Fatal(err)
	}
	got, err := slots.Current.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	again, err := kernelconfig.Pack(sample(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if again.Revision != d.Revision || string(again.Data) != string(d.Data) {
		t.Error("the same config must give the same revision and bytes, whatever its sequence")
	}
}

func TestPackRefusesWhatIsTooLarge(t *testing.T) {
	c := sample()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]rune, kernelconfig.MaxCompressedBytes)
	for i := range noise {
		noise[i] = rune(0x4E00 + r.IntN(0x4FFF))
	}
	c.Persona.Prompt = string(noise)
	_, err := kernelconfig.Pack(c, 1)
	var tooLarge *kernelconfig.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Size <= kernelconfig.MaxCompressedBytes {
		t.Fatalf("want a TooLargeError, got %v", err)
	}
}

func TestBadDeliveries(t *testing.T) {
	good, err := kernelconfig.Pack(sample(), 1)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		data   map[string]string
		binary map[string][]byte
		want   string
	}{
		"header is not JSON": {map[string]string{"current": "x"}, nil, "reading the header of current"},
		"data missing":       {map[string]string{"current": `{"revision":"a","sequence":1}`}, nil, "current.json.gz is missing"},
		"data not gzip":      {map[string]string{"current": `{"revision":"a","sequence":1}`}, map[string][]byte{"current.json.gz": []byte("no")}, "inflating revision a"},
		"data of another":    {map[string]string{"current": `{"revision":"a","sequence":1}`}, map[string][]byte{"current.json.gz": good.Data}, "its data hash to"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			slots, err := kernelconfig.ReadSlots(tc.data, tc.binary)
			if err == nil {
				_, err = slots.Current.Unpack()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
	if slots, err := kernelconfig.ReadSlots(nil, nil); err != nil || slots.Current != nil || slots.LastGood != nil {
		t.Errorf("an empty ConfigMap has no slots and no error, got %+v, %v", slots, err)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	tests := map[string]string{
		`{"format":"aalis.dev/kernel/v1","name":"a","plugins":[],"drainTimeoutSeconds":0,"surprise":1}`: "surprise",
		`{"format":"aalis.dev/kernel/v2","name":"a","plugins":[],"drainTimeoutSeconds":0}`:              "format must be",
		`{"format":"aalis.dev/kernel/v1","plugins":[],"drainTimeoutSeconds":0}`:                         "name must be set",
		`{"format":"aalis.dev/kernel/v1","name":"a","plugins":[],"drainTimeoutSeconds":0} x`:            "after the document",
	}
	for in, want := range tests {
		if _, err := kernelconfig.Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", in, want, err)
		}
	}
}

func TestMountedSecrets(t *testing.T) {
	c := sample()
	c.Plugins = append(c.Plugins, kernelconfig.Plugin{ID: "x", Module: "x", Secrets: []kernelconfig.Secret{
		{Path: "a", Name: "llm", Key: "api-key"}, {Path: "b", Name: "a", Key: "z"},
	}})
	want := []kernelconfig.SecretKey{{Name: "a", Key: "z"}, {Name: "llm", Key: "api-key"}}
	if diff := cmp.Diff(want, c.MountedSecrets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzUnpack(f *testing.F) {
	d, err := kernelconfig.Pack(sample(), 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(d.Revision, d.Data)
	f.Add("", []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, revision string, data []byte) {
		c, err := kernelconfig.Delivery{Revision: revision, Data: data}.Unpack()
		if err != nil {
			return
		}
		if _, err := c.Encode(); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
	})
}

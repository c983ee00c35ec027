// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience bounds one commit: Flux looks at health every 5 seconds.
const patience = 90 * time.Second

// repository is what source-controller is in a cluster: it serves a commit as an archive and says so in the status of a
// GitRepository.
type repository struct {
	server  *httptest.Server
	mu      sync.Mutex
	archive []byte
	commits int
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = w.Write(r.archive) // a reader that has gone asks again
	}))
	t.Cleanup(r.server.Close)
	return r
}

// commit publishes files and gives the revision.
func (r *repository) commit(t *testing.T, source *unstructured.Unstructured, files map[string]string) string {
	t.Helper()
	archive := pack(t, files)
	sum := sha256.Sum256(archive)
	digest := hex.EncodeToString(sum[:])
	r.mu.Lock()
	r.archive = archive
	r.commits++
	path := fmt.Sprintf("gitrepository/bots/%d.tar.gz", r.commits)
	revision := fmt.Sprintf("main@sha1:%040x", r.commits)
	r.mu.Unlock()
	now := time.Now().UTC().Format(time.RFC3339)
	before := source.DeepCopy()
	source.Object["status"] = map[string]any{
		"observedGeneration": source.GetGeneration(),
		"artifact": map[string]any{
			"path": path, "url": r.server.URL + "/" + path, "revision": revision, "digest": "sha256:" + digest,
			"lastUpdateTime": now, "size": int64(len(archive)),
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored", "lastTransitionTime": now,
			"observedGeneration": source.GetGeneration(),
		}},
	}
	if err := env.Client().Status().Patch(t.Context(), source, client.MergeFrom(before)); err != nil {
		t.Fatalf("publishing a commit: %v", err)
	}
	return revision
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// startFlux installs Flux' kinds and runs its kustomize-controller until the test ends.
func startFlux(t *testing.T) {
	t.Helper()
	tools := filepath.Join(root, "hack", "tools", "flux")
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/fluxcd/kustomize-controller")
	list.Dir = tools
	dir, err := list.Output()
	if err != nil {
		t.Fatalf("finding kustomize-controller's module: %v", err)
	}
	var sources []*apiextensionsv1.CustomResourceDefinition
	for kind, plural := range map[string]string{"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets"} {
		sources = append(sources, sourceKind(kind, plural))
	}
	env.InstallCRDs(t, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases")},
		CRDs:  sources,
	})
	built, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "tool.sh"), "kustomize-controller").Output()
	if err != nil {
		t.Fatalf("building kustomize-controller: %v", err)
	}
	var log bytes.Buffer
	cmd := exec.Command(strings.TrimSpace(string(built)), "--metrics-addr=0", "--health-addr=127.0.0.1:0", "--no-remote-bases=true",
		"--log-level=info", "--interval-jitter-percentage=0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Administrator(t, "flux"), "RUNTIME_NAMESPACE=default")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting kustomize-controller: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended, which Wait tells
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("kustomize-controller ended with %v, having said:\n%s", err, log.String())
		}
	})
}

// sourceKind defines a kind of source as far as kustomize-controller needs it: the test writes its status itself.
func sourceKind(kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	const group = "source.toolkit.fluxcd.io"
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind),
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// declared creates the objects of the shipped example in a namespace.
func declared(t *testing.T, ns string) (source, kustomization *unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config", "gitops", "flux", "bots.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	objects := []*unstructured.Unstructured{{}, {}}
	for _, u := range objects {
		if err := reader.Decode(u); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(ns)
	}
	source, kustomization = objects[0], objects[1]
	if err := unstructured.SetNestedField(kustomization.Object, ns, "spec", "targetNamespace"); err != nil {
		t.Fatal(err)
	}
	env.Create(t, source, kustomization)
	return source, kustomization
}

// applied waits until Flux calls a revision applied and healthy.
func applied(t *testing.T, k *unstructured.Unstructured, revision string) {
	t.Helper()
	until(t, k, func() error {
		got, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
		if ready := fluxCondition(k, "Ready"); got != revision || ready["status"] != "True" {
			return fmt.Errorf("revision %s is applied, Ready is %v; want %s, True", got, ready, revision)
		}
		return nil
	})
}

// checking waits until Flux has applied a revision and waits for the health of what is in it.
func checking(t *testing.T, k *unstructured.Unstructured, revision string) {
	t.Helper()
	until(t, k, func() error {
		message := fmt.Sprint(fluxCondition(k, "Reconciling")["message"])
		if !strings.HasPrefix(message, "Running health checks for revision "+revision) {
			return fmt.Errorf("reconciling: %s", message)
		}
		return nil
	})
}

// until reads the Kustomization until check is content.
func until(t *testing.T, k *unstructured.Unstructured, check func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(k), k)
		if err == nil {
			err = check()
		}
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still not so after %s: %v", patience, err)
		}
	}
}

func fluxCondition(k *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(k.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return nil
}

// again asks Flux to apply the same revision once more and waits until it has.
func again(t *testing.T, k *unstructured.Unstructured, revision string) {
	t.Helper()
	token := time.Now().Format(time.RFC3339Nano)
	before := k.DeepCopy()
	annotations := k.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["reconcile.fluxcd.io/requestedAt"] = token
	k.SetAnnotations(annotations)
	if err := env.Client().Patch(t.Context(), k, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	until(t, k, func() error {
		if got, _, _ := unstructured.NestedString(k.Object, "status", "lastHandledReconcileAt"); got != token {
			return fmt.Errorf("handled %s, want %s", got, token)
		}
		return nil
	})
	applied(t, k, revision)
}

// gone waits until Flux has removed a Kustomization and with it what it had applied.
func gone(t *testing.T, k *unstructured.Unstructured) {
	t.Helper()
	if err := env.Client().Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(k), k)
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Kustomization is still there after %s: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

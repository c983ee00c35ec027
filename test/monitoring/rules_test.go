// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	rulesFile = "../../config/monitoring/rules.yaml"
	testsFile = "rules_test.yaml"
	metrics   = "../../docs/metrics.md"
	runbooks  = "../../docs/runbooks/"
)

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

// promtool runs Prometheus' tool, which the test targets install.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: go run ./hack/cluster packages prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestRules(t *testing.T) {
	promtool(t, "check", "rules", rulesFile)
	promtool(t, "test", "rules", testsFile)
}

// TestEveryAlertIsTested: each has a case in which it fires and one in which it does not.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Rules []struct {
				Alert string           `json:"alertname"`
				Fires []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal([]byte(read(t, testsFile)), &file); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, c := range file.Tests {
		for _, r := range c.Rules {
			if len(r.Fires) > 0 {
				fires[r.Alert] = true
			} else {
				quiet[r.Alert] = true
			}
		}
	}
	for _, r := range rules(t) {
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s: tested firing %t, tested quiet %t", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
	}
}

// TestEveryAlertHelps: each says how grave it is, what it is in a sentence, and where to read on; every runbook belongs to one.
func TestEveryAlertHelps(t *testing.T) {
	var names []string
	for _, r := range rules(t) {
		names = append(names, r.Alert)
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if !strings.HasSuffix(r.Annotations["summary"], ".") {
			t.Errorf("%s: summary %q", r.Alert, r.Annotations["summary"])
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/runbooks/"+r.Alert+".md") {
			t.Errorf("%s: runbook %q", r.Alert, r.Annotations["runbook_url"])
		}
		page := read(t, runbooks+r.Alert+".md")
		for _, part := range []string{"# " + r.Alert, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the runbook has no %q", r.Alert, part)
			}
		}
	}
	files, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".md"); ok && name != "README" && !slices.Contains(names, name) {
			t.Errorf("the runbook %s belongs to no alert", f.Name())
		}
	}
}

var (
	metricName = regexp.MustCompile(`\baalis_[a-z_]+`)
	suffix     = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// undocumented lists the metrics of ours in a query that docs/metrics.md does not have.
func undocumented(documented, query string) []string {
	var out []string
	for _, name := range metricName.FindAllString(query, -1) {
		if !strings.Contains(documented, "`"+name+"`") && !strings.Contains(documented, "`"+suffix.ReplaceAllString(name, "")+"` | histogram") {
			out = append(out, name)
		}
	}
	return out
}

func TestRulesUseWhatIsDocumented(t *testing.T) {
	documented := read(t, metrics)
	for _, r := range rules(t) {
		if names := undocumented(documented, r.Expr); names != nil {
			t.Errorf("%s uses %v", r.Alert, names)
		}
	}
}

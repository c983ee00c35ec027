// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const dashboards = "../../config/monitoring/dashboards/*.json"

type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID      int            `json:"id"`
		Type    string         `json:"type"`
		Title   string         `json:"title"`
		GridPos map[string]int `json:"gridPos"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// queries gives every query of a dashboard, by the title of its panel, as Prometheus gets it.
func (d dashboard) queries() map[string][]string {
	fill := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$agent", ".*")
	out := map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out[p.Title] = append(out[p.Title], fill.Replace(target.Expr))
		}
	}
	return out
}

func load(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob(dashboards)
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	var out []dashboard
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, d)
	}
	return out
}

// TestDashboards: every query is one that Prometheus takes, of metrics that are documented; panels have titles, and none covers
// another.
func TestDashboards(t *testing.T) {
	documented := read(t, metrics)
	var file strings.Builder
	file.WriteString("groups:\n- name: dashboards\n  rules:\n")
	for _, d := range load(t) {
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s: panel %d has no title or no query", d.UID, p.ID)
			}
			for x := range p.GridPos["w"] {
				for y := range p.GridPos["h"] {
					at := [2]int{p.GridPos["x"] + x, p.GridPos["y"] + y}
					if other := taken[at]; other != "" || at[0] >= 24 {
						t.Fatalf("%s: %q is at %v, where %q is", d.UID, p.Title, at, other)
					}
					taken[at] = p.Title
				}
			}
		}
		for title, list := range d.queries() {
			for i, expr := range list {
				if names := undocumented(documented, expr); names != nil {
					t.Errorf("%s: %s uses %v", d.UID, title, names)
				}
				if strings.Contains(expr, "$") {
					t.Errorf("%s: %s has a variable that nobody fills: %s", d.UID, title, expr)
				}
				fmt.Fprintf(&file, "  - record: 'x:%s_%d'\n    expr: %q\n", strings.ReplaceAll(d.UID, "-", "_"), i, expr)
				fmt.Fprintf(&file, "    labels: {panel: %q}\n", title)
			}
		}
		for _, v := range d.Templating.List {
			if q, ok := v.Query.(map[string]any); ok {
				if names := undocumented(documented, fmt.Sprint(q["query"])); names != nil {
					t.Errorf("%s: variable %s uses %v", d.UID, v.Name, names)
				}
			}
		}
	}
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", rules)
}

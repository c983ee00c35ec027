// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// The size of the grid, and of a panel on it: three in a row.
const (
	gridWidth   = 24
	panelWidth  = 8
	panelHeight = 8
)

// schemaVersion is that of Grafana 10, which later ones read.
const schemaVersion = 38

type dashboard struct {
	UID, Title string
	// Variables that are chosen at the top, each by a query of label values.
	Variables []variable
	Rows      []row
}

type variable struct{ Name, Query string }

type row struct {
	Title  string
	Panels []panel
}

type panel struct {
	Title, Unit, Description string
	// Kind of the panel: timeseries, unless it is said.
	Kind    string
	Queries []query
}

type query struct{ Expr, Legend string }

type object = map[string]any

// source is the Prometheus that is chosen at the top.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// model is the dashboard as Grafana reads it.
func (d dashboard) model() object {
	variables := []object{{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}
	for _, v := range d.Variables {
		variables = append(variables, object{
			"name": v.Name, "type": "query", "datasource": source, "query": object{"query": v.Query, "refId": v.Name},
			"refresh": 2, "sort": 1, "includeAll": true, "multi": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
		})
	}
	var panels []object
	id, y := 0, 0
	next := func() int { id++; return id }
	for _, r := range d.Rows {
		panels = append(panels, object{
			"id": next(), "type": "row", "title": r.Title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": gridWidth, "h": 1},
		})
		y++
		x := 0
		for _, p := range r.Panels {
			if x+panelWidth > gridWidth {
				x, y = 0, y+panelHeight
			}
			one := p.model(next())
			one["gridPos"] = object{"x": x, "y": y, "w": panelWidth, "h": panelHeight}
			panels = append(panels, one)
			x += panelWidth
		}
		y += panelHeight
	}
	return object{
		"uid": d.UID, "title": d.Title, "tags": []string{"aalis"}, "schemaVersion": schemaVersion, "version": 1, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "30s", "timezone": "",
		"templating": object{"list": variables}, "panels": panels, "annotations": object{"list": []object{}},
	}
}

func (p panel) model(id int) object {
	kind := p.Kind
	if kind == "" {
		kind = "timeseries"
	}
	var targets []object
	for i, q := range p.Queries {
		target := object{"refId": string(rune('A' + i)), "expr": q.Expr, "legendFormat": q.Legend, "datasource": source}
		if kind == "table" {
			target["instant"], target["format"] = true, "table"
		}
		targets = append(targets, target)
	}
	return object{
		"id": id, "type": kind, "title": p.Title, "description": p.Description, "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []object{}},
	}
}

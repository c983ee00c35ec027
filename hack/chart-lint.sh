#!/usr/bin/env bash
# Lints the chart, renders it with its switches, and decodes every rendered object strictly.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=$(hack/tool.sh helm)
chart=charts/aalis-operator
"$helm" lint --strict "$chart"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
render() { "$helm" template aalis-operator "$chart" --namespace aalis-system "${@:2}" > "$out/$1.yaml"; }
render default
render everything --set metrics.serviceMonitor.enabled=true --set botMetrics.podMonitor.enabled=true --set replicas=2 --set 'watchNamespaces={a,b}' --set 'allowedImages={x/*}' --set priorityClassName=high
render ha --values "$chart/values-ha.yaml" --set metrics.serviceMonitor.enabled=true --set botMetrics.podMonitor.enabled=true --set metrics.prometheusRule.enabled=true --set dashboards.enabled=true --set 'dnsCIDRs={169.254.20.10/32}'
render minimal --set metrics.enabled=false --set rbac.aggregate=false --set crds.install=false --set leaderElection.enabled=false
go run ./hack/manifestcheck "$out"/*.yaml config/samples/*.yaml config/samples/tenant/*.yaml
if "$helm" template x "$chart" --set nonsense=1 >/dev/null 2>&1; then
  echo "the chart must refuse values that it does not know" >&2
  exit 1
fi
"$(hack/tool.sh kustomize)" build config/samples > "$out/samples.yaml"
"$(hack/tool.sh kustomize)" build config/default > "$out/default-kustomize.yaml"
go run ./hack/manifestcheck "$out/samples.yaml" "$out/default-kustomize.yaml"
echo "the chart and the manifests are valid"

#!/usr/bin/env bash
# Writes all that is generated: deep copies, CRDs, the operator's role, the module catalog, the chart's copies, the
# plain install manifest and the reference docs. CI runs it and fails if anything changed.
set -euo pipefail
cd "$(dirname "$0")/.."
gen=$(hack/tool.sh controller-gen)
"$gen" object:headerFile=hack/boilerplate.go.txt paths=./api/...
"$gen" crd paths=./api/... output:crd:artifacts:config=config/crd/bases
"$gen" rbac:roleName=aalis-operator paths=./controllers/... output:rbac:artifacts:config=config/rbac
go run ./cmd/aalis catalog -o json > out.catalog.json
mv out.catalog.json runtime/catalog/catalog.json
go run ./hack/opsgen runtime/catalog/operations.json
chart=charts/aalis-operator
mkdir -p "$chart/files/crds"
rm -f "$chart"/files/crds/*.yaml
cp config/crd/bases/*.yaml "$chart/files/crds/"
cp config/rbac/role.yaml "$chart/files/role.yaml"
go run ./hack/dashgen config/monitoring/dashboards
rm -rf "$chart/files/dashboards"
cp -r config/monitoring/dashboards "$chart/files/dashboards"
cp config/monitoring/rules.yaml "$chart/files/rules.yaml"
mkdir -p config/default
{
  echo "# Generated from the chart by make generate."
  "$(hack/tool.sh helm)" template aalis-operator "$chart" --namespace aalis-system
} > config/default/install.yaml
go run ./hack/docsgen docs/reference

#!/usr/bin/env bash
# Fails when a generated file differs from what its source gives now. It works on a copy of the tree, so that it
# never changes the one it checks.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
(cd "$copy" && hack/generate.sh)
stale=0
for path in api config/crd/bases config/rbac/role.yaml config/default/install.yaml runtime/catalog/catalog.json runtime/catalog/operations.json charts/aalis-operator/files config/monitoring/dashboards docs/reference; do
  if ! diff -r -q "$path" "$copy/$path"; then
    stale=1
  fi
done
if [ "$stale" -ne 0 ]; then
  echo "generated files are stale: run make generate and commit what changes" >&2
  exit 1
fi
if ! (cd "$copy" && go mod tidy -diff); then
  echo "go.mod or go.sum is stale: run go mod tidy and commit what changes" >&2
  exit 1
fi
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  echo "not formatted: $unformatted" >&2
  exit 1
fi
echo "generated files are up to date"

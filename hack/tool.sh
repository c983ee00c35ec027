#!/usr/bin/env bash
# Prints the path of a pinned development tool, building it from its module under hack/tools the first time. Built
# tools live outside the work tree, by the hash of what pins them.
set -euo pipefail
cd "$(dirname "$0")/tools"
case "${1:?usage: hack/tool.sh controller-gen|golangci-lint|govulncheck|helm|kustomize|kustomize-controller}" in
controller-gen) dir=. pkg=sigs.k8s.io/controller-tools/cmd/controller-gen ;;
golangci-lint) dir=lint pkg=. ;;
govulncheck) dir=vuln pkg=golang.org/x/vuln/cmd/govulncheck ;;
helm) dir=helm pkg=helm.sh/helm/v4/cmd/helm ;;
kustomize) dir=kustomize pkg=sigs.k8s.io/kustomize/kustomize/v5 ;;
kustomize-controller) dir=flux pkg=github.com/fluxcd/kustomize-controller ;;
*) echo "hack/tool.sh: unknown tool $1" >&2; exit 2 ;;
esac
pin=$({ go env GOVERSION; find "$dir" -maxdepth 1 -type f \( -name 'go.*' -o -name '*.go' \) -print0 | sort -z | xargs -0 cat; } | sha256sum | cut -c1-12)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/aalis-operator/tools/$1-$pin"
if [ ! -x "$bin" ]; then
  mkdir -p "$(dirname "$bin")"
  tmp=$(mktemp "$bin.XXXXXX")
  trap 'rm -f "$tmp"' EXIT
  echo "building $1" >&2
  (cd "$dir" && CGO_ENABLED=0 nice -n 5 go build -trimpath -ldflags "-s -w" -o "$tmp" "$pkg") >&2
  chmod 755 "$tmp"
  mv "$tmp" "$bin"
fi
echo "$bin"

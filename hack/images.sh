#!/usr/bin/env bash
# Builds the static binaries and writes them as image archives, with no container engine, into out/images. The tag is
# the hash of what is in the images, so that a changed image is always a new one; it is written to out/images/tag.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/images
mkdir -p "$out" out/bin
version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)
export CGO_ENABLED=0
go build -trimpath -ldflags "-s -w -X main.version=$version" -o out/bin/ ./cmd/aalis-operator ./cmd/aalis ./cmd/kubectl-aalis ./hack/fakellm
install -m 755 hack/kubectl_complete-aalis out/bin/
tag=$(cat out/bin/aalis-operator out/bin/aalis out/bin/fakellm | sha256sum | cut -c1-12)
write() { # archive, image, binary
  go run ./hack/image --out "$out/$1.tar" --tag "aalis-dev/$2:$tag" --entrypoint "/$3" "out/bin/$3=/$3"
}
if [ "$(cat "$out/tag" 2>/dev/null)" != "$tag" ] || [ ! -e "$out/fakellm.tar" ]; then
  write operator aalis-operator aalis-operator
  write runtime aalis aalis
  write fakellm fakellm fakellm
  echo "$tag" > "$out/tag"
fi
echo "images aalis-dev/{aalis-operator,aalis,fakellm}:$tag in $out"

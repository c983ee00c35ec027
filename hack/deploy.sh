#!/usr/bin/env bash
# Loads the images of out/images into the cluster and installs the operator there with the Helm chart.
# CLUSTER is bare (hack/cluster), kind, or current (your kubeconfig; the images must be in reach of its nodes, and
# IMAGE_PREFIX may name where).
set -euo pipefail
cd "$(dirname "$0")/.."
cluster=${CLUSTER:-bare}
tag=$(cat out/images/tag)
prefix=${IMAGE_PREFIX:-aalis-dev}
source hack/cluster-env.sh
case "$cluster" in
bare) go run ./hack/cluster load out/images/operator.tar out/images/runtime.tar out/images/fakellm.tar ;;
kind) for i in operator runtime fakellm; do kind load image-archive --name "${KIND_CLUSTER:-aalis}" "out/images/$i.tar"; done ;;
current) echo "CLUSTER=current: using the images $prefix/{aalis-operator,aalis,fakellm}:$tag, which its nodes must be able to pull" ;;
esac
"$(hack/tool.sh helm)" upgrade --install aalis-operator charts/aalis-operator \
  --namespace "${OPERATOR_NAMESPACE:-aalis-system}" --create-namespace --wait --timeout 3m \
  --set image.repository="$prefix/aalis-operator" --set image.tag="$tag" \
  --set runtimeImage.repository="$prefix/aalis" --set runtimeImage.tag="$tag" ${HELM_ARGS:-} >/dev/null
echo "operator $tag is installed in namespace ${OPERATOR_NAMESPACE:-aalis-system}"

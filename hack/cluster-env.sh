# To be sourced: exports KUBECONFIG and KUBECTL for the cluster that CLUSTER names.
case "${CLUSTER:-bare}" in
bare)
  KUBECONFIG=$(go run ./hack/cluster kubeconfig)
  KUBECTL=$(go run ./hack/cluster binaries --only envtest)/kubectl
  ;;
kind | current)
  KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}
  KUBECTL=$(command -v kubectl)
  ;;
*)
  echo "CLUSTER must be bare, kind or current, got \"$CLUSTER\"" >&2
  exit 2
  ;;
esac
export KUBECONFIG KUBECTL

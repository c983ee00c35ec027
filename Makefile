# Aalis Operator. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Which cluster: bare (one or two nodes on this machine, no container engine), kind, or current (your kubeconfig).
CLUSTER ?= bare
# Nodes of the bare cluster, 1 or 2; what it has, when empty.
NODES ?=
# Tests at a time.
P ?= 2
export CLUSTER

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN{FS=":.*## "} /^##@/{printf "\n%s\n", substr($$0,5)} /^[a-zA-Z_-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use it
.PHONY: demo demo-down cluster cluster-down images deploy
demo: cluster images deploy ## The main job on a real cluster: a bot declared in YAML answers, changes its persona while it runs.
	source hack/cluster-env.sh && PATH="$(CURDIR)/out/bin:$$PATH" go run ./hack/demo --kubeconfig "$$KUBECONFIG" --kubectl "$$KUBECTL" \
	  --fakellm-image "$${IMAGE_PREFIX:-aalis-dev}/fakellm:$$(cat out/images/tag)"

demo-down: ## Remove the demo from the cluster.
	source hack/cluster-env.sh && "$$KUBECTL" --kubeconfig "$$KUBECONFIG" delete namespace aalis-demo --ignore-not-found

cluster: ## Bring up the cluster that CLUSTER names (bare: from nothing, on this machine; NODES=2 for a second node).
	@case "$(CLUSTER)" in \
	bare) go run ./hack/cluster up $(if $(NODES),--nodes $(NODES)) ;; \
	kind) kind get clusters | grep -qx "$${KIND_CLUSTER:-aalis}" || kind create cluster --name "$${KIND_CLUSTER:-aalis}" ;; \
	current) echo "using your kubeconfig" ;; \
	*) echo 'CLUSTER must be bare, kind or current, got "$(CLUSTER)"' >&2; exit 2 ;; esac

cluster-down: ## Take the cluster down and leave nothing behind.
	@case "$(CLUSTER)" in \
	bare) go run ./hack/cluster down ;; \
	kind) kind delete cluster --name "$${KIND_CLUSTER:-aalis}" ;; \
	current) echo "your own cluster stays as it is" ;; esac

images: ## Build the images, with no container engine.
	hack/images.sh

deploy: ## Install the operator in the cluster with the Helm chart.
	hack/deploy.sh

##@ Build
.PHONY: build generate fmt
build: ## Build the binaries into out/bin.
	mkdir -p out/bin && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$$(git describe --tags --always --dirty)" -o out/bin/ ./cmd/...
	install -m 755 hack/kubectl_complete-aalis out/bin/

generate: ## Write all generated files.
	hack/generate.sh

fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

##@ Check
.PHONY: test test-full check lint vet vuln verify-generated chart-lint test-unit test-envtest test-e2e test-nodes bench bench-kernel bench-turns fuzz
test: check test-unit test-envtest test-e2e ## The gate: checks, units with -race, envtest, end to end on a real cluster.

test-full: export AALIS_FULL = 1
test-full: test test-nodes bench fuzz ## The gate with the full sizes that the issues name.

check: verify-generated vet lint chart-lint vuln ## All that needs no running test.

lint: ## golangci-lint with the Kubernetes API linter.
	"$$(hack/tool.sh golangci-lint)" run ./...

vet: ## go vet.
	go vet ./...

vuln: ## govulncheck, where its data is in reach.
	hack/vuln.sh

verify-generated: ## Fail when a generated file is stale.
	hack/verify-generated.sh

chart-lint: ## Lint the chart and validate what it renders.
	hack/chart-lint.sh

test-unit: ## Unit tests with -race, some of them against a real Redis.
	command -v redis-server >/dev/null || go run ./hack/cluster packages redis-server
	command -v promtool >/dev/null || go run ./hack/cluster packages prometheus
	go test -race -p $(P) $$(go list ./... | grep -v -e /test/e2e -e /test/gitops -e /test/kubectl -e /test/upgrade -e aalis-operator/controllers)

test-envtest: ## The operator's tests, with a real kube-apiserver where controllers need one.
	KUBEBUILDER_ASSETS="$$(go run ./hack/cluster binaries --only envtest)" go test -race -p 1 -timeout $(if $(AALIS_FULL),60m,20m) ./controllers/... ./test/gitops ./test/kubectl ./test/upgrade

test-e2e: cluster images deploy ## End to end on the cluster, with real pods.
	command -v prometheus-alertmanager >/dev/null || go run ./hack/cluster packages prometheus prometheus-alertmanager
	source hack/cluster-env.sh && AALIS_E2E_KUBECONFIG="$$KUBECONFIG" AALIS_E2E_KUBECTL="$$KUBECTL" AALIS_E2E_IMAGES="$${IMAGE_PREFIX:-aalis-dev}:$$(cat out/images/tag)" \
	  go test -p 1 -count=1 -timeout 40m -v ./test/e2e/...

test-nodes: ## Bots that move to another node: needs the bare cluster, which has a second node meanwhile.
	$(MAKE) cluster images deploy CLUSTER=bare NODES=2
	source hack/cluster-env.sh && AALIS_E2E_KUBECONFIG="$$KUBECONFIG" AALIS_E2E_KUBECTL="$$KUBECTL" AALIS_E2E_IMAGES="$${IMAGE_PREFIX:-aalis-dev}:$$(cat out/images/tag)" \
	  go test -p 1 -count=1 -timeout 15m -v -run 'TestDrainMovesABot|TestLostNodeMovesABot' ./test/e2e; \
	  status=$$?; go run ./hack/cluster up --nodes 1 && exit $$status

bench: ## Benchmarks, with allocations.
	go test -run '^$$' -bench . -benchmem ./runtime/...

bench-kernel: ## The kernel's figures as a table, beside the original's, against their targets.
	go run ./test/bench --check

bench-turns: ## Turns per second, CPU per turn and paced streams, beside a bare client in the same run.
	AALIS_BENCH=1 go test -count=1 -v ./test/turnbench

fuzz: ## Each fuzz target for a while (FUZZTIME, 20s by default).
	hack/fuzz.sh

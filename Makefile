# Only Go, git, make and sh are needed; everything else comes as a Go module.

GO       ?= go
BIN      := bin/basis
LDFLAGS  := -s -w
LINT     := $(GO) run -modfile=.ci/tools.mod github.com/golangci/golangci-lint/v2/cmd/golangci-lint
FUZZTIME ?= 30s

.PHONY: build demo test race lint fmt vet fuzz bench golden spec cover torture ci

build: ## the binary, in bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/basis

demo: build ## a run without a key, in this repository
	$(BIN) --provider demo "Show me around this repository"

test: ## everything that must hold
	$(GO) test ./...

race: ## the same under the race detector
	$(GO) test -race ./...

vet: ## also as other systems see it
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...

lint: vet ## the rules of docs/architecture.md and CONTRIBUTING.md
	$(LINT) run ./...

fmt: ## as lint wants it
	$(LINT) fmt ./...

fuzz: ## each fuzz target for FUZZTIME
	sh .ci/fuzz $(FUZZTIME)

bench: ## every claim of speed, as ratios within one run
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...

golden: ## rewrite golden files; read the diff as if someone else wrote it
	$(GO) test . ./cmd/basis ./projections ./replay -update

spec: ## every requirement in docs/spec is cited by a test
	$(GO) test -run TestSpec .

cover:
	$(GO) test -coverprofile cover.out ./...
	$(GO) tool cover -func cover.out | tail -1

torture: ## the long forms of the journal's and the run's crash tests
	BASIS_TORTURE=1 $(GO) test -timeout 60m ./journal/... ./cli/... .

ci: build lint spec test race ## what .ci/run runs

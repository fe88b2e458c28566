# make help lists the targets. They need Go; those that need more say so.

SHELL    := bash
TOOL     := go tool -modfile=tools/go.mod
PREFIX   ?= /usr/local
FUZZTIME ?= 30s
RUNS     ?= 200000
BASE     ?= main
COUNT    ?= 10
PKG      ?= ./...

# The systems that sfcore is built for. Cores are read on all of them.
SYSTEMS := linux/amd64 linux/arm64 linux/s390x darwin/arm64 windows/amd64

# Packages whose tests know -update.
GOLDEN = $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/internal\/testkit[] ]/ { print $$1 }')

.PHONY: help build install test fleet shape api apidiff race lint vulncheck fmt generate golden fuzz torture hostile crash signatures crash-vm mutants bench bench-peers bench-growth benchcmp cover cross qemu e2e vsix site e2e-vscode cores field release-dry-run packages-test check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/sfcore and the programs that it runs
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...
	cd cmd/sfcore-fleet && CGO_ENABLED=0 go build -trimpath -o ../../bin/ .

install: build ## install programs, manual pages and completions below DESTDIR/PREFIX; PREFIX is /usr/local
	install -d $(addprefix "$(DESTDIR)$(PREFIX)"/,bin share/man/man1 share/bash-completion/completions share/fish/vendor_completions.d share/zsh/site-functions)
	install bin/sfcore bin/sfcore-crash bin/sfcore-delve bin/sfcore-fleet bin/sfcore-plugin "$(DESTDIR)$(PREFIX)/bin"
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(date +%s)}; export SOURCE_DATE_EPOCH; units=$$(mktemp -d) && \
	go run -tags docs ./cmd/sfcore "$(DESTDIR)$(PREFIX)/share/man/man1" && \
	go run -tags docs ./cmd/sfcore-crash "$(DESTDIR)$(PREFIX)/share/man/man1" "$$units" && rm -r "$$units" && \
	go -C cmd/sfcore-fleet run -tags docs . "$(abspath $(DESTDIR)$(PREFIX))/share/man/man1"
	for program in sfcore sfcore-fleet; do \
		bin/$$program completion bash >"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$program" && \
		bin/$$program completion fish >"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/$$program.fish" && \
		bin/$$program completion zsh >"$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_$$program" || exit 1; \
	done

test: ## run all tests
	go test ./...

fleet: ## vet, lint and test the module of cmd/sfcore-fleet (PostgreSQL is used if it is installed)
	cd cmd/sfcore-fleet && go mod tidy -diff && go vet ./... && GOOS=darwin go build -o /dev/null .
	cd cmd/sfcore-fleet && $(subst tools/,../../tools/,$(TOOL)) golangci-lint run --allow-parallel-runners ./...
	cd cmd/sfcore-fleet && go test ./...
	cd cmd/sfcore-fleet/test && go mod tidy -diff && go vet ./... && go test ./...

shape: ## print the figures of the repository's shape beside their limits
	go test -count=1 -v -run '^Test(Shape|Porting)' ./internal/layering

api: ## record what the promised packages export; then look at git diff
	go test -count=1 -run '^TestAPI$$' ./internal/layering -api
	@git --no-pager diff --stat -- internal/layering/testdata/api

apidiff: ## check the recorded API, and show how it differs from that of BASE=main
	go test -count=1 -run '^TestAPI$$' ./internal/layering
	git --no-pager diff $(BASE) -- internal/layering/testdata/api

race: ## run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./...

lint: ## run gofmt, golangci-lint (staticcheck included), buf and actionlint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')) && test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(TOOL) golangci-lint run ./...
	$(TOOL) buf lint plugin/proto/v2
	cd tools/release && $(subst tools/,../,$(TOOL)) golangci-lint run --allow-parallel-runners ./...
	$(TOOL) actionlint

vulncheck: ## look for known vulnerabilities (needs the network)
	.ci/vulncheck

fmt: ## format the code as lint wants it
	$(TOOL) golangci-lint fmt ./...

generate: ## rewrite generated files
	go generate ./...

golden: ## rewrite golden files; then look at git diff
	go test $(GOLDEN) -update
	@git --no-pager diff --stat

fuzz: ## run every fuzz target for FUZZTIME=30s
	.ci/fuzz $(FUZZTIME)

torture: ## damage cores and executables RUNS=200000 times and check the results
	go run ./test/torture -runs $(RUNS)

hostile: ## run sfcore on inputs that are constructed to be expensive
	go run ./test/hostile

crash: ## crash programs under sfcore-crash and compare with their cores (needs root; sets kernel.core_pattern meanwhile)
	go run ./test/crash

signatures: ## crash programs with bugs, and measure how well signatures group the crashes, beside the rules of others (needs gcc, clang, rustc)
	go run ./test/signatures

crash-vm: ## the same, and what is installed for systemd, on Debian's kernels 6.1 and 7.2 in emulated machines (needs root, debootstrap; an hour)
	test/crash/vm

mutants: ## change the code of PKG=./internal/dwarf/expr and print what its tests do not notice
	go run ./test/mutants $(PKG)

bench: ## run the benchmarks of PKG=./... COUNT=10 times
	go test -run='^$$' -bench=. -count=$(COUNT) $(PKG)

bench-peers: ## measure beside gdb and eu-stack, into bench/record (needs cc, c++, gdb, elfutils; lldb if it is there)
	@mkdir -p bench/record
	go run ./bench peers -record bench/record/$$(date +%F)-peers.md

bench-growth: ## measure how the time grows with the core, into bench/record and docs/images (needs cc)
	@mkdir -p bench/record
	go run ./bench growth -record bench/record/$$(date +%F)-growth.md -plot docs/images/growth.svg

benchcmp: ## compare the benchmarks of PKG=./... with those of BASE=main
	@COUNT=$(COUNT) PKG="$(PKG)" bench/compare $(BASE)

cover: ## show how much of each package its tests reach
	go test -cover ./...

cross: ## vet and build for every system
	@for system in $(SYSTEMS); do \
		echo "$$system"; \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 go vet ./... && \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 go build ./... && \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 go -C cmd/sfcore-fleet build -o /dev/null . || exit 1; \
	done

qemu: ## run all tests as s390x and arm64 programs (needs qemu-user)
	CGO_ENABLED=0 GOARCH=s390x go test -exec qemu-s390x ./...
	CGO_ENABLED=0 GOARCH=arm64 go test -exec qemu-aarch64 ./...

cores: ## rebuild the case CASE=name of testdata/cores, or all, and show what differs (needs root, debootstrap, jq, cpio)
	$(if $(CASE),testdata/cores/rebuild '$(CASE)',testdata/cores/differences bin/cores)

field: ## compare every frame of programs under load with gdb of trixie and sid; PROGRAMS="sid/lua" (needs root, debootstrap)
	test/field/run $(PROGRAMS)

e2e: ## compare with gdb and eu-stack on this machine (needs both)
	go test -count=1 -timeout 30m -tags e2e ./test/e2e/...

vsix: ## package the VS Code extension as bin/sfcore.vsix (needs npm)
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o editors/vscode/bin/ ./cmd/sfcore ./cmd/sfcore-delve
	cp LICENSE editors/vscode/
	mkdir -p bin && cd editors/vscode && npm ci --no-audit --no-fund --ignore-scripts && npx --no-install vsce package --no-dependencies --allow-missing-repository -o ../../bin/sfcore.vsix

site: ## make the site of docs/ and of the commands' help in bin/site, and check its links (needs npm)
	tools/site/build

e2e-vscode: vsix ## open core files in VS Code and take pictures (needs npm, chromium, libkrb5-dev, a C++ compiler)
	test/e2e/vscode/run.sh

release-dry-run: ## make the files of a release in bin/release, twice, and compare; ONLY=linux/amd64 for a part
	tools/release/dry-run $(ONLY)

packages-test: ## install, use, upgrade and remove the .deb of bin/release in clean Debian 12, 13 and sid (needs root, debootstrap)
	test/packages/run bookworm trixie sid

check: ## run all that must pass before a change lands
	bash .ci/run

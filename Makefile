# make test        everything that a machine with only Go can show
# make gpu-bundle  all tests, benchmarks and examples as binaries for a machine with a GPU

GO       ?= go
# Besides this system, for which all of it is vetted and tested anyhow.
TARGETS  := $(filter-out $(shell $(GO) env GOHOSTOS)/$(shell $(GO) env GOHOSTARCH),linux/amd64 linux/arm64 windows/amd64 windows/arm64 darwin/arm64)
MODULES  := tools bench
BUILD    := build
NVIDIA   ?= $(BUILD)/nvidia
# Where cuda.h of CUDA 13.0 is; generation is checked if it is there.
CUDA_INCLUDE ?= /usr/local/cuda/include
HAVE_CC  := $(shell command -v $${CC:-cc} 2>/dev/null)

.PHONY: supply release-check api api-check licences licences-check sbom files-opened reproducible vulncheck test-calls test-roots bench-emulator fuzz test fmt vet unit race tags cross generate generate-check docs docs-check test-nvidia test-arm64 test-windows test-platforms test-wasm gpu-bundle clean

test: fmt vet unit race tags cross generate-check docs-check

fmt:
	@set -e; all=$$(git ls-files -co --exclude-standard '*.go'); set --; \
	for f in $$all; do if [ -e "$$f" ]; then set -- "$$@" "$$f"; fi; done; \
	[ $$# -gt 0 ] || { echo "fmt: there is no file to look at"; exit 1; }; \
	bad=$$(gofmt -l "$$@"); [ -z "$$bad" ] || { echo "not gofmt-ed:"; echo "$$bad"; exit 1; }

vet:
	CGO_ENABLED=0 $(GO) vet ./...
	set -e; for m in $(MODULES); do CGO_ENABLED=0 $(GO) -C $$m vet ./...; done

unit:
	CGO_ENABLED=0 $(GO) test ./...
	set -e; for m in $(MODULES); do CGO_ENABLED=0 $(GO) -C $$m test ./...; done

# The race detector needs a C compiler, and is also the run with cgo on. With -short,
# here and below, what "unit" has run whole runs in part: every seventh instruction
# form, some of the failures that are injected. Nothing is vetted a second time.
race:
ifneq ($(HAVE_CC),)
	CGO_ENABLED=1 $(GO) test -race -short -vet=off ./...
else
	@echo "race: no C compiler here, so no run with the race detector and none with cgo on"
endif

# The two other ways to call: without a loader, and through purego.SyscallN. All is
# compiled, and tested is what makes calls.
TAGGED := ./loader ./driver/... ./graph ./internal/launches ./internal/parity ./internal/robust ./examples/first ./examples/quickstart

tags:
	set -e; for t in static purecuda_syscall; do \
		CGO_ENABLED=0 $(GO) build -tags $$t ./...; \
		CGO_ENABLED=0 $(GO) test -short -vet=off -tags $$t $(TAGGED); \
	done

# To vet is also what compiles the tests for systems on which none runs.
cross:
	set -e; for t in $(TARGETS); do echo "cross: $$t"; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet ./...; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./...; \
	done

generate:
	$(GO) run -C tools ./cudagen -header $(CUDA_INCLUDE) -out ../driver

generate-check:
	@if [ -f $(CUDA_INCLUDE)/cuda.h ]; then \
		$(GO) run -C tools ./cudagen -header $(CUDA_INCLUDE) -out ../driver -check; \
	else echo "generate-check: no cuda.h at $(CUDA_INCLUDE), so generation is not checked here"; fi

# docs/graph-functions.md says which of CUDA's graph functions the typed API
# calls; docs-check also fails if it does not call all of them.
GRAPHDOC ?= -complete

docs:
	$(GO) run -C tools ./graphdoc -root ..
	$(GO) run -C tools ./emudoc -root ..
	$(GO) run -C tools ./errordoc -root ..
	$(GO) run -C tools ./docsnip -root ..

docs-check:
	$(GO) run -C tools ./graphdoc -root .. -check $(GRAPHDOC)
	$(GO) run -C tools ./emudoc -root .. -check
	$(GO) run -C tools ./errordoc -root .. -check
	$(GO) run -C tools ./docsnip -root .. -check
	$(GO) run -C tools ./doccheck -root .. -examples
	$(GO) run -C tools ./doclinks -root ..

# Real driver libraries, ptxas, NVRTC and the toolkit's stub, none of which needs a GPU.
test-nvidia:
	scripts/nvidia-parts.sh $(NVIDIA)
	CGO_ENABLED=0 PURECUDA_NVIDIA_PARTS=$(abspath $(NVIDIA)) $(GO) test -tags nvidia -count=1 -v -run '^TestNVIDIA' ./internal/nvidiatest

# The arm64 tests under user-mode emulation (Debian: qemu-user-static, libc6-arm64-cross).
# Left out are those that start their own binary, which the system cannot.
test-arm64:
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -short -vet=off -exec "qemu-aarch64-static -L /usr/aarch64-linux-gnu" -skip '^(TestSourcesAreCompiled|TestLostGPUEndsTheProcess|TestSignalsEndTheProcessInOrder)$$' ./...

# The windows/amd64 tests under Wine.
# Left out are the two that delete a file, which Wine 8 does not do the way Go asks.
test-windows:
	CGO_ENABLED=0 GOOS=windows WINEPREFIX=$(abspath $(BUILD)/wine) $(GO) test -short -vet=off -exec "$(abspath scripts/wine-run.sh)" \
		-skip '^(TestGraphQueries|TestDriverDOT)$$' ./...

# The quickstart and the examples where nothing else runs them: static binaries
# alone in a root directory, and wasm. scripts/platforms.sh runs them everywhere.
test-platforms:
	scripts/platforms.sh static
	scripts/platforms.sh js
	scripts/platforms.sh wasip1 quickstart

# The tests of what has no loader, as wasip1 under node: one thread, and no
# goroutine is interrupted. Left out are those that take a minute there;
# "make test-wasm WASM_SKIP=" runs all.
WASM_SKIP ?= ^(TestEveryCallMayFail|TestTimeIsLinear|TestNoTextIsSlow|TestCheckOfLargeGraphs|TestFlowsHaveNoConflictUntilAnEdgeIsMissing)$$

test-wasm:
	CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm $(GO) test -vet=off -exec "$(abspath scripts/wasm-run.sh)" -skip '$(WASM_SKIP)' ./ptx ./driver ./driver/emulator ./graph

# Everything that reads bytes of strangers, for FUZZTIME each. The minimiser would
# take most of the time where an input is large.
FUZZTIME ?= 30s
FUZZ     := ./ptx:FuzzParse ./ptx:FuzzSignatures ./ptx:FuzzRoundTrip ./ptx:FuzzInspect ./driver:FuzzImage ./driver/emulator:FuzzLZ4 ./ptx/ptx2go/internal/gen:FuzzSources ./examples/internal/safetensors:FuzzSafetensors ./driver/emulator:FuzzModule ./ptx/nvrtc:FuzzEntry ./loader:FuzzEnvironment

fuzz:
	set -e; for f in $(FUZZ); do echo "fuzz: $$f"; \
		CGO_ENABLED=0 $(GO) test $${f%:*} -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; done

# How fast the emulator is, with the bars that it has to hold: for a machine
# with two processors and nothing else to do. bench/numba/compare.sh adds numba.
bench-emulator:
	@grep -m 1 'model name' /proc/cpuinfo || true
	CGO_ENABLED=0 PURECUDA_BENCH=1 $(GO) test -count=1 -p 1 -v -run '^TestSpeed' ./driver/emulator ./internal/corpus
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench 'Mma|Matmul|Saxpy|Arithmetic|Compile|Launch' ./driver/emulator/internal/vm ./driver/emulator
	CGO_ENABLED=0 $(GO) run -C bench ./cmd/emubench

# The supply chain, docs/supply-chain.md: the fast part, and all of it before a release.
supply: api-check licences-check files-opened
	scripts/reproducible.sh linux/amd64

release-check:
	scripts/release-check.sh -o docs/results/supply-chain.md

# api/*.txt is the exported API; api-check fails if it is not, or if something
# that the last tag exported is gone.
api:
	$(GO) run -C tools ./supply api -root ..

api-check:
	$(GO) run -C tools ./supply api -root .. -check

licences:
	$(GO) run -C tools ./supply licences -root ..

licences-check:
	$(GO) mod verify
	$(GO) run -C tools ./supply licences -root .. -check

sbom:
	mkdir -p $(BUILD)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/quickstart ./examples/quickstart
	epoch=$$(git log -1 --format=%ct) && SOURCE_DATE_EPOCH=$$epoch $(GO) run -C tools ./supply sbom -root .. >$(BUILD)/sbom.spdx.json
	epoch=$$(git log -1 --format=%ct) && SOURCE_DATE_EPOCH=$$epoch $(GO) run -C tools ./supply sbom -root .. $(abspath $(BUILD))/quickstart >$(BUILD)/sbom-quickstart.spdx.json

files-opened:
	scripts/files-opened.sh >/dev/null

reproducible:
	scripts/reproducible.sh

# Known vulnerabilities; GOVULNDB may name a copy of the database.
vulncheck:
	scripts/vulnerabilities.sh

# The way into C and back, with a stand-in for the driver compiled for three systems
# (Debian: gcc-aarch64-linux-gnu, gcc-mingw-w64-x86-64, qemu-user-static, wine).
test-calls:
	scripts/calls.sh

# Old and new versions of glibc, and musl, each alone in a root directory.
test-roots:
	scripts/roots.sh

gpu-bundle:
	scripts/gpu-bundle.sh

clean:
	rm -rf $(BUILD) bundle

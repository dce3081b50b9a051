# make test        everything that a machine with only Go can show
# make gpu-bundle  all tests, benchmarks and examples as binaries for a machine with a GPU

GO       ?= go
TARGETS  := linux/amd64 linux/arm64 windows/amd64 windows/arm64 darwin/arm64
MODULES  := tools/cudagen tools/graphdoc tools/emudoc bench
BUILD    := build
NVIDIA   ?= $(BUILD)/nvidia
# Where cuda.h of CUDA 13.0 is; generation is checked if it is there.
CUDA_INCLUDE ?= /usr/local/cuda/include
HAVE_CC  := $(shell command -v $${CC:-cc} 2>/dev/null)

.PHONY: fuzz test fmt vet unit race tags cross generate generate-check docs docs-check test-nvidia test-arm64 test-windows gpu-bundle clean

test: fmt vet unit race tags cross generate-check docs-check

fmt:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$bad" ]; then echo "not gofmt-ed:"; echo "$$bad"; exit 1; fi

vet:
	CGO_ENABLED=0 $(GO) vet ./...
	set -e; for m in $(MODULES); do CGO_ENABLED=0 $(GO) -C $$m vet ./...; done

unit:
	CGO_ENABLED=0 $(GO) test ./...
	set -e; for m in $(MODULES); do CGO_ENABLED=0 $(GO) -C $$m test ./...; done

# The race detector needs a C compiler, and is also the run with cgo on.
race:
ifneq ($(HAVE_CC),)
	CGO_ENABLED=1 $(GO) test -race ./...
else
	@echo "race: no C compiler here, so no run with the race detector and none with cgo on"
endif

# The two other ways to call: without a loader, and through purego.SyscallN.
tags:
	CGO_ENABLED=0 $(GO) test -tags static ./...
	CGO_ENABLED=0 $(GO) test -tags purecuda_syscall ./...

cross:
	set -e; for t in $(TARGETS); do echo "cross: $$t"; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet ./...; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./...; \
	done

generate:
	$(GO) run -C tools/cudagen . -header $(CUDA_INCLUDE) -out ../../driver

generate-check:
	@if [ -f $(CUDA_INCLUDE)/cuda.h ]; then \
		$(GO) run -C tools/cudagen . -header $(CUDA_INCLUDE) -out ../../driver -check; \
	else echo "generate-check: no cuda.h at $(CUDA_INCLUDE), so generation is not checked here"; fi

# docs/graph-functions.md says which of CUDA's graph functions the typed API
# calls; docs-check also fails if it does not call all of them.
GRAPHDOC ?= -complete

docs:
	$(GO) run -C tools/graphdoc . -root ../..
	$(GO) run -C tools/emudoc . -root ../..

docs-check:
	$(GO) run -C tools/graphdoc . -root ../.. -check $(GRAPHDOC)
	$(GO) run -C tools/emudoc . -root ../.. -check

# Real driver libraries, ptxas, NVRTC and the toolkit's stub, none of which needs a GPU.
test-nvidia:
	scripts/nvidia-parts.sh $(NVIDIA)
	CGO_ENABLED=0 PURECUDA_NVIDIA_PARTS=$(abspath $(NVIDIA)) $(GO) test -tags nvidia -count=1 -v -run '^TestNVIDIA' ./internal/nvidiatest

# The arm64 tests under user-mode emulation (Debian: qemu-user-static, libc6-arm64-cross).
# Left out is the one that runs its own binary as a compiler, which the system cannot.
test-arm64:
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -exec "qemu-aarch64-static -L /usr/aarch64-linux-gnu" -skip '^TestSourcesAreCompiled$$' ./...

# The windows/amd64 tests under Wine. One package at a time: the first makes the prefix.
# Left out are the two that delete a file, which Wine 8 does not do the way Go asks.
test-windows:
	CGO_ENABLED=0 GOOS=windows WINEPREFIX=$(abspath $(BUILD)/wine) $(GO) test -p 1 -exec "$(abspath scripts/wine-run.sh)" \
		-skip '^(TestGraphQueries|TestDriverDOT)$$' ./...

# Everything that reads bytes of strangers, for FUZZTIME each. The minimiser would
# take most of the time where an input is large.
FUZZTIME ?= 30s
FUZZ     := ./ptx:FuzzParse ./ptx:FuzzSignatures ./ptx:FuzzRoundTrip ./ptx:FuzzInspect ./driver:FuzzImage ./driver/emulator:FuzzLZ4 ./ptx/ptx2go/internal/gen:FuzzSources

fuzz:
	set -e; for f in $(FUZZ); do echo "fuzz: $$f"; \
		CGO_ENABLED=0 $(GO) test $${f%:*} -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; done

gpu-bundle:
	scripts/gpu-bundle.sh

clean:
	rm -rf $(BUILD) bundle

# make test        what a change must pass: a few minutes, with Go alone
# make check       the rest that needs nothing but Go and a C compiler
# make full        what .ci/run leaves out because it takes long
# make gpu-bundle  all tests, benchmarks and examples as binaries for a machine with a GPU

GO       ?= go
# Folders of packages that only test others. They are modules of their own, so that nobody
# downloads them with the library. What runs the tests of the main module runs these too.
TESTS    := driver/emulator/internal/verify graph/internal/verify internal/checks ptx/go2ptx/internal/verify ptx/kernels/internal/kernelstest ptx/ptx2go/internal/example
# $(call below,PATTERNS) are those of TESTS that belong to patterns of packages such as ./graph/...
below     = $(if $(filter ./...,$(1)),$(TESTS),$(foreach p,$(patsubst ./%/...,%,$(filter ./%/...,$(1))),$(filter $(p)/%,$(TESTS))))
MODULES  := tools bench internal/verify ptx/cmd/go2ptxvet $(TESTS)
BUILD    := build
NVIDIA   ?= $(BUILD)/nvidia
# Where cuda.h of CUDA 13.0 is; generation is checked if it is there.
CUDA_INCLUDE ?= /usr/local/cuda/include
comma    := ,
space    := $(subst ,, )
# Tools too: with a C compiler Go would otherwise build most packages a second time.
export CGO_ENABLED := 0
HAVE_CC  := $(shell command -v $${CC:-cc} 2>/dev/null)

.PHONY: full long race-all cross-all check short staticcheck ptx-oracle supply release-check api api-check zip-size licences licences-check sbom files-opened reproducible vulncheck test-calls test-roots bench-emulator fuzz test fmt vet unit race tags tags-all cross generate generate-check kernels-check header-check docs docs-check test-nvidia test-arm64 test-windows test-platforms test-wasm gpu-bundle clean

# The parts of "test" and "check". One that this machine cannot run says NOT RUN and is
# counted as that; with REQUIRE_ALL=1 it is a failure.
TEST_PARTS  ?= fmt vet short docs-check
CHECK_PARTS := long race tags cross generate-check
NOT_RUN    := $(BUILD)/not-run.txt
# $(call not_run,PART,REASON) is the recipe of a part that cannot run here.
define not_run
@mkdir -p $(BUILD); echo "NOT RUN $(1): $(2)" | tee -a $(NOT_RUN)
endef

# $(call each,PACKAGES,MODULES,COMMAND) runs COMMAND with m=. and p=PACKAGES, and then with
# each of MODULES as m and p=./... It fails at the end if any of them failed.
each = status=0; p='$(1)'; for m in . $(2); do $(3) || status=1; p=./...; done; exit $$status

test:
	@mkdir -p $(BUILD); : >$(NOT_RUN)
	@$(MAKE) --no-print-directory $(TEST_PARTS)
	@n=$$(grep -c . $(NOT_RUN) || true); echo "test: $$(($(words $(TEST_PARTS)) - n)) of $(words $(TEST_PARTS)) parts passed, $$n not run"; \
	cat $(NOT_RUN); [ "$$n" -eq 0 ] || [ -z "$(REQUIRE_ALL)" ]

check:
	@$(MAKE) --no-print-directory test TEST_PARTS="$(CHECK_PARTS)"

# What .ci/run leaves out: the same tests on every system and under the race detector
# whole, everything built for every system, every program built twice. "long" is what
# "unit" shortens or leaves out in CI.
full:
	$(MAKE) long UNIT_SKIP=
	$(MAKE) race-all cross-all tags-all
	$(MAKE) test-arm64 test-windows PACKAGES=./...
	$(MAKE) test-wasm WASM_SHORT='-timeout 2h' WASM_SKIP= WASM_BELOW='$(call below,./graph/...)'
	$(MAKE) test-nvidia NVIDIA_SHORT=
	scripts/platforms.sh js
	$(MAKE) reproducible

fmt:
	@set -e; all=$$(git ls-files -co --exclude-standard '*.go'); set --; \
	for f in $$all; do if [ -e "$$f" ]; then set -- "$$@" "$$f"; fi; done; \
	[ $$# -gt 0 ] || { echo "fmt: there is no file to look at"; exit 1; }; \
	bad=$$(gofmt -l "$$@"); [ -z "$$bad" ] || { echo "not gofmt-ed:"; echo "$$bad"; exit 1; }

vet:
	$(call each,./...,$(MODULES),$(GO) vet -C $$m $$p)

# SA9010 takes the function that SetLeakHook returns for one that a defer forgot.
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

staticcheck:
	$(call each,./...,$(TESTS),$(GO) run -C $$m $(STATICCHECK) -checks inherit$(comma)-SA9010 $$p)

# With -short, here and below, some tests run in part: every seventh instruction form, some
# of the failures that are injected. "long" runs those whole, and the other modules. "unit"
# is all tests. Nothing is vetted again.
short:
	$(call each,./...,$(TESTS),$(GO) test -C $$m -short -vet=off $$p)

# UNIT_SKIP names tests of the other modules to leave out, and UNIT_SHORT folders of packages
# that "unit" runs with -short. .ci/run sets both, and "make full" runs all of it.
UNIT_SKIP  ?=
UNIT_SHORT ?=
OTHERS     = set -e; for m in $(filter-out $(TESTS),$(MODULES)); do $(GO) -C $$m test -vet=off -skip '$(UNIT_SKIP)' ./...; done

long:
	$(call each,,$(TESTS),p=$$(scripts/shortened.sh $$m) && { [ -z "$$p" ] || $(GO) test -C $$m -vet=off $$p; })
	$(OTHERS)

unit:
	$(call each,,$(TESTS),scripts/unit.sh $$m $(UNIT_SHORT))
	$(OTHERS)

# The race detector runs on every package whose code or tests start goroutines or share
# memory: tools/concurrent reads that from the source. RACE_ALSO adds programs that are
# concurrent only through the library. RACE_SKIP leaves out tests that compute for long on
# one goroutine, where there is nothing to detect. "make race-all" runs all tests of all
# packages. The detector needs a C compiler, so this is also the run with cgo on.
#
# RACE_WITHOUT are folders of packages that compute without goroutines of their own: only
# their tests start some, to use all processors or to limit the time. In internal/exact a
# lock guards the table of constants. For the faulttest of go2ptx, the whole compiler would be
# compiled again, and its tests only launch kernels, as those of internal/kernelfault do.
RACE_WITHOUT := internal/exact ptx ptx/gpu/math ptx/gpu/math32 ptx/num $(addprefix ptx/go2ptx/internal/verify/,difftest faulttest fuzztest mathkernels)
RACE_ALSO := $(addprefix github.com/purecuda/cuda/examples/,04-capture 07-multistream 09-callable 15-peers quickstart)
RACE_SKIP ?= ^(TestTiesThatLeftAreForgotten|TestPlacementFollowsTheModel|TestOperationsOnRowsOnDevicesOfEachText|TestTheFirstNaNIsTheLargestWhateverItsBits|TestClustersOfAnySizeAndNumber|TestSoftmaxOfSpecialNumbers|TestEveryKernelHasAnOperation|TestOperationsAreMadeAgain|TestNumbersAreThoseOfTheInstructions|TestQuickSumsAreTheGeneralOnes|TestStacksOfAllThreadsAreBounded|TestTheListOfMissingForms|TestTenGraphsNeedTheMemoryOfTheLargest|TestEveryDriverCallOfAnAdaptiveCallableMayFail|TestKernelsAreUpToDate)$$

race:
ifneq ($(HAVE_CC),)
	$(call each,$(RACE_ALSO),$(TESTS),p=$$($(GO) run -C tools ./concurrent -root ../$$m -without $(subst $(space),$(comma),$(addprefix ../,$(RACE_WITHOUT))) $${p#./...}) && \
		{ [ -z "$$p" ] || CGO_ENABLED=1 $(GO) test -C $$m -race -short -vet=off -skip '$(RACE_SKIP)' $$p; })
else
	$(call not_run,race,no C compiler here$(comma) so no run with the race detector and none with cgo on)
endif

race-all:
	$(call each,./...,$(TESTS),CGO_ENABLED=1 $(GO) test -C $$m -race -short -vet=off $$p)

# The two other ways to call: without a loader, and through purego.SyscallN. Only package
# loader has files that differ, so the packages that call it are tested. "make cross"
# type-checks everything with both tags, and "make tags-all" runs all tests of package graph
# and of what is below it.
TAGGED := ./loader ./driver ./driver/cu ./driver/cudatest ./graph ./examples/first ./examples/quickstart

tags:
	set -e; for t in static purecuda_syscall; do \
		$(GO) test -short -vet=off -tags $$t $(TAGGED); \
		$(GO) test -C internal/verify -short -vet=off -tags $$t ./parity ./robust; \
	done

tags-all: tags
	set -e; for t in static purecuda_syscall; do \
		$(GO) test -short -vet=off -tags $$t ./graph/...; \
		for m in $(call below,./graph/...); do $(GO) test -C $$m -short -vet=off -tags $$t ./...; done; \
	done

# Other systems and tags. All packages and tests are type-checked for each of them. What
# only vet, the assembler and the linker find is left to two more steps: package loader,
# which has the assembly and the linknames, is vetted, and its tests are linked. "make
# cross-all" vets and builds everything instead, which takes several times as long. "make vet"
# does that for linux/amd64.
CHECKED := linux/amd64/static linux/amd64/purecuda_syscall linux/arm64 linux/riscv64 windows/amd64 windows/arm64 darwin/arm64 freebsd/amd64 js/wasm wasip1/wasm
LINKED  := linux/arm64 windows/amd64 windows/arm64 darwin/arm64

cross:
	$(GO) run -C tools ./typecheck -root .. -modules $(subst $(space),$(comma),$(strip $(filter-out bench,$(MODULES)))) $(CHECKED)
	$(GO) run -C tools ./typecheck -root .. -tests=false linux/386 # tests use 64-bit sizes
	set -e; mkdir -p $(BUILD)/cross; for t in $(LINKED); do echo "cross: $$t"; \
		GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet -asmdecl -unsafeptr ./loader; \
		GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) test -c -vet=off -o $(BUILD)/cross/ ./loader; \
	done

cross-all:
	set -e; for t in $(LINKED); do echo "cross-all: $$t"; \
		for m in . $(TESTS); do GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet -C $$m ./...; done; \
		GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./...; \
	done
	GOOS=linux GOARCH=386 $(GO) build ./...

generate:
	$(GO) run -C tools ./cudagen -header $(CUDA_INCLUDE) -out ../driver/cu
	scripts/go2ptx.sh

generate-check: kernels-check header-check

kernels-check:
	scripts/go2ptx.sh -check

header-check:
ifneq ($(wildcard $(CUDA_INCLUDE)/cuda.h),)
	$(GO) run -C tools ./cudagen -header $(CUDA_INCLUDE) -out ../driver/cu -check
else
	$(call not_run,header-check,no cuda.h in $(CUDA_INCLUDE))
endif

# docs/graph-functions.md says which of CUDA's graph functions the typed API
# calls; docs-check also fails if it does not call all of them.
GRAPHDOC ?= -complete

docs:
	$(GO) run -C tools ./graphdoc -root ..
	$(GO) run -C tools ./emudoc -root ..
	$(GO) run -C tools ./errordoc -root ..
	$(GO) run -C tools ./langdoc -root ..
	$(GO) run -C tools ./timeline -root ..
	$(GO) run -C tools ./docsnip -root ..
	$(GO) run -C tools ./rundoc -root ..
	$(GO) run -C tools ./packagedoc -root ..

docs-check:
	$(GO) run -C tools ./graphdoc -root .. -check $(GRAPHDOC)
	$(GO) run -C tools ./emudoc -root .. -check
	$(GO) run -C tools ./errordoc -root .. -check
	$(GO) run -C tools ./langdoc -root .. -check
	$(GO) run -C tools ./timeline -root .. -check
	$(GO) run -C tools ./docsnip -root .. -check
	$(GO) run -C tools ./rundoc -root .. -check
	$(GO) run -C tools ./packagedoc -root .. -check
	$(GO) run -C tools ./doccheck -root .. -examples -listed -returns
	$(GO) run -C tools ./doclinks -root ..
	@set -e; for limit in driver:2000 graph:1500; do n=$$($(GO) doc -all ./$${limit%:*} | wc -l); \
		[ $$n -le $${limit#*:} ] || { echo "go doc -all ./$${limit%:*} has $$n lines, more than $${limit#*:}"; exit 1; }; done

# The check of PTX beside the real assembler, in full: make test-nvidia runs a
# part of this. PTXAS names assemblers, with commas between them: that of CUDA
# 11.8 takes texts up to PTX 7.8, that of CUDA 12.4 (Debian trixie's
# nvidia-cuda-toolkit) up to 8.4, a newer one newer texts.
PTXAS        ?= $(abspath $(NVIDIA))/toolkit/usr/bin/ptxas
PTX_MUTANTS  ?= 300
PTX_FORMS    ?= 30
PTX_BUILT    ?= 10000
PTX_SEED     ?= 1

ptx-oracle:
	scripts/nvidia-parts.sh $(NVIDIA)
	$(GO) run -C tools ./ptxfuzz -ptxas $(PTXAS) -mode cvt
	$(GO) run -C tools ./ptxfuzz -ptxas $(PTXAS) -mode texts -examples 20 ../ptx/kernels ../driver ../examples
	$(GO) run -C tools ./ptxfuzz -ptxas $(PTXAS) -mode mutants -n $(PTX_MUTANTS) -seed $(PTX_SEED) ..
	$(GO) run -C tools ./ptxfuzz -ptxas $(PTXAS) -mode forms -n $(PTX_FORMS) -seed $(PTX_SEED)
	$(GO) run -C tools ./ptxfuzz -ptxas $(PTXAS) -mode build -n $(PTX_BUILT) -seed $(PTX_SEED)

# Real driver libraries, ptxas, NVRTC and the toolkit's stub, none of which needs a GPU.
# With -short, every seventh pair of a PTX version and a target is tried.
NVIDIA_SHORT ?= -short

test-nvidia:
	scripts/nvidia-parts.sh $(NVIDIA)
	PURECUDA_NVIDIA_PARTS=$(abspath $(NVIDIA)) $(GO) test -C internal/checks -tags nvidia -count=1 $(NVIDIA_SHORT) -v -run '^TestNVIDIA' ./nvidiatest

# What may depend on the system or the processor: how libraries are called, the objects on
# top of that, the emulator with its arithmetic, number types, decompression. What is left
# out reads and writes text or only uses these, and is the same on every system.
# "make test-arm64 test-windows PACKAGES=./..." runs all.
PACKAGES ?= ./loader ./driver/... ./graph ./ptx/num ./ptx/nvrtc ./internal/zstd ./examples/quickstart

# The arm64 tests under user-mode emulation (Debian: qemu-user-static, libc6-arm64-cross).
# Left out are those that start their own binary, which the system cannot.
test-arm64:
	$(call each,$(PACKAGES),$(call below,$(PACKAGES)),GOARCH=arm64 $(GO) test -C $$m -short -vet=off -exec "qemu-aarch64-static -L /usr/aarch64-linux-gnu" \
		-skip '^(TestSourcesAreCompiled|TestLostGPUEndsTheProcess|TestSignalsEndTheProcessInOrder|TestFlushWritesTextToAPipe)$$' $$p)

# The windows/amd64 tests under Wine.
# Left out are those that delete a file or a folder, which Wine 8 does not do the way Go asks, and those that run the go
# command, which Wine does not find.
test-windows:
	$(call each,$(PACKAGES),$(call below,$(PACKAGES)),GOOS=windows WINEPREFIX=$(abspath $(BUILD)/wine) $(GO) test -C $$m -short -vet=off -exec "$(abspath scripts/wine-run.sh)" \
		-skip '^(TestGraphQueries|TestDriverDOT|TestGraphMethodsReturnTheErrorsOfTheirCalls|TestTheTableIsComplete|TestRefusedGoCalls|TestRefusals)$$' \
		$$(GOOS=windows $(GO) list -C $$m $$p | grep -v '/ptx/cmd/go2ptx$$'))

# The quickstart and the examples where nothing else runs them: static binaries
# alone in a root directory, and wasm, for which only the quickstart is compiled.
# "scripts/platforms.sh js" runs all examples, and without arguments it does so everywhere.
test-platforms:
	scripts/platforms.sh static
	scripts/platforms.sh js quickstart
	scripts/platforms.sh wasip1 quickstart

# The tests of what has no loader, as wasip1 under node: one thread, and no
# goroutine is interrupted. Left out are tests that compute or inject failures for long, and
# the modules below ./graph, which test it further; "make full" runs all.
WASM_BELOW ?=
WASM_SHORT ?= -short
WASM_SKIP ?= ^(TestEveryCallMayFail|TestTimeIsLinear|TestNoTextIsSlow|TestCheckOfLargeGraphs|TestFlowsHaveNoConflictUntilAnEdgeIsMissing|TestEveryCallOfARestartMayFail|TestEveryDriverCallMayFail|TestLaunchesThatAdaptiveRecordingSaves|TestTenGraphsNeedTheMemoryOfTheLargest|TestTheListOfMissingForms|TestTangledBodiesHaveNoEstimate|TestInspectPathologicalText)$$

test-wasm:
	$(call each,./ptx ./driver ./driver/cu ./driver/image ./driver/emulator ./graph/...,$(WASM_BELOW),GOOS=wasip1 GOARCH=wasm $(GO) test -C $$m $(WASM_SHORT) -vet=off \
		-exec "$(abspath scripts/wasm-run.sh)" -skip '$(WASM_SKIP)' $$p)

# Everything that reads bytes of strangers, for FUZZTIME each. The minimiser would
# take most of the time where an input is large.
FUZZTIME ?= 30s
FUZZ     := ./ptx/go2ptx/internal/verify/fuzztest:FuzzCompile ./ptx:FuzzParse ./ptx:FuzzSignatures ./ptx:FuzzRoundTrip ./ptx:FuzzInspect ./driver/image:FuzzImage ./driver/image:FuzzLZ4 ./internal/zstd:FuzzDecode ./ptx/ptx2go/internal/gen:FuzzSources ./examples/internal/safetensors:FuzzSafetensors ./driver/emulator/internal/verify/hostile:FuzzModule ./driver/emulator/internal/verify/hostile:FuzzBinary ./ptx/nvrtc:FuzzEntry ./loader:FuzzEnvironment

fuzz:
	set -e; for f in $(FUZZ); do echo "fuzz: $$f"; \
		$(GO) test -C $${f%:*} . -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; done

# How fast the emulator is, with the bars that it has to hold: for a machine
# with two processors and nothing else to do. bench/numba/compare.sh adds numba.
bench-emulator:
	@grep -m 1 'model name' /proc/cpuinfo || true
	PURECUDA_BENCH=1 $(GO) test -C driver/emulator/internal/verify -count=1 -v -run '^TestSpeed' ./speed
	PURECUDA_BENCH=1 $(GO) test -C internal/verify -count=1 -v -run '^TestSpeed' ./corpus
	$(GO) test -run '^$$' -bench 'Mma|Matmul|Saxpy|Arithmetic|Compile|Launch' ./driver/emulator/internal/vm ./driver/emulator
	$(GO) run -C bench ./cmd/emubench

# The supply chain, docs/supply-chain.md: the fast part, and all of it before a release.
# "make full" has "reproducible", which compiles everything twice for each system.
supply: api-check zip-size licences-check files-opened

release-check:
	scripts/release-check.sh -o docs/results/supply-chain.md

# api/*.txt is the exported API; api-check fails if it is not, or if something
# that the last tag exported is gone.
api:
	$(GO) run -C tools ./supply api -root ..

api-check:
	$(GO) run -C tools ./supply api -root .. -check

# What "go get" downloads, which has a limit.
zip-size:
	$(GO) run -C tools ./supply size -root ..

licences:
	$(GO) run -C tools ./supply licences -root ..

licences-check:
	$(GO) mod verify
	$(GO) run -C tools ./supply licences -root .. -check

sbom:
	mkdir -p $(BUILD)
	$(GO) build -trimpath -o $(BUILD)/quickstart ./examples/quickstart
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

package driver

import (
	"runtime"
	"unsafe"
)

// JITOption changes how the driver compiles PTX. Options do nothing to code
// that is already compiled.
type JITOption func(*jit)

// JITMaxRegisters limits the registers per thread.
func JITMaxRegisters(n int) JITOption { return JITRaw(CU_JIT_MAX_REGISTERS, uintptr(n)) }

// JITThreadsPerBlock has the compiler leave registers for blocks of at least n
// threads.
func JITThreadsPerBlock(n int) JITOption { return JITRaw(CU_JIT_THREADS_PER_BLOCK, uintptr(n)) }

// JITOptLevel sets the optimisation level, 0 to 4; 4 is the default.
func JITOptLevel(level int) JITOption { return JITRaw(CU_JIT_OPTIMIZATION_LEVEL, uintptr(level)) }

// JITTarget compiles for a given architecture instead of the context's.
func JITTarget(t CUjit_target) JITOption { return JITRaw(CU_JIT_TARGET, uintptr(t)) }

// JITFallback says what to do with a fat binary that has no exact match.
func JITFallback(f CUjit_fallback) JITOption { return JITRaw(CU_JIT_FALLBACK_STRATEGY, uintptr(f)) }

// JITDebugInfo generates debug information.
func JITDebugInfo() JITOption { return JITRaw(CU_JIT_GENERATE_DEBUG_INFO, 1) }

// JITLineInfo generates line numbers for profilers and compute-sanitizer.
func JITLineInfo() JITOption { return JITRaw(CU_JIT_GENERATE_LINE_INFO, 1) }

// JITVerbose has the compiler report registers and memory of each kernel in
// the log (Module.Log).
func JITVerbose() JITOption { return JITRaw(CU_JIT_LOG_VERBOSE, 1) }

// JITCacheMode says how loads are cached.
func JITCacheMode(m CUjit_cacheMode) JITOption { return JITRaw(CU_JIT_CACHE_MODE, uintptr(m)) }

// JITPositionIndependent generates position-independent code.
func JITPositionIndependent() JITOption { return JITRaw(CU_JIT_POSITION_INDEPENDENT_CODE, 1) }

// JITMinBlocksPerMultiprocessor has the compiler leave room for n blocks on
// each multiprocessor.
func JITMinBlocksPerMultiprocessor(n int) JITOption { return JITRaw(CU_JIT_MIN_CTA_PER_SM, uintptr(n)) }

// JITMaxThreadsPerBlock promises that blocks have at most n threads.
func JITMaxThreadsPerBlock(n int) JITOption {
	return JITRaw(CU_JIT_MAX_THREADS_PER_BLOCK, uintptr(n))
}

// JITOverrideDirectives has the options above win over directives in the PTX.
func JITOverrideDirectives() JITOption { return JITRaw(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1) }

// JITRaw passes any option whose value is a number. An older driver refuses
// options that it does not know.
func JITRaw(option CUjit_option, value uintptr) JITOption {
	return func(j *jit) { j.set(option, value) }
}

const (
	infoLogBytes  = 8 << 10
	errorLogBytes = 16 << 10
)

// jit is the option list of one load. The driver writes the logs while it
// compiles, which for a Library is when a kernel is first used; whoever loads
// keeps the jit, pinned, as long as that.
type jit struct {
	options   []CUjit_option
	values    []uintptr // numbers and addresses, as void* in C
	info, err []byte
	pins      runtime.Pinner
}

func newJIT(opts []JITOption) *jit {
	j := &jit{info: make([]byte, infoLogBytes), err: make([]byte, errorLogBytes)}
	j.log(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, j.info)
	j.log(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, j.err)
	for _, o := range opts {
		o(j)
	}
	return j
}

func (j *jit) log(buffer, size CUjit_option, b []byte) {
	j.pins.Pin(&b[0])
	j.set(buffer, uintptr(unsafe.Pointer(&b[0])))
	j.set(size, uintptr(len(b)-1))
}

func (j *jit) set(o CUjit_option, v uintptr) {
	j.options = append(j.options, o)
	j.values = append(j.values, v)
}

func (j *jit) count() uint32 { return uint32(len(j.options)) }

func (j *jit) optionList() *CUjit_option { return &j.options[0] }

func (j *jit) valueList() *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(&j.values[0])) }

// close lets go of the log buffers.
func (j *jit) close() { j.pins.Unpin() }

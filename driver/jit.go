package driver

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

// JITOption changes how the driver compiles PTX. Options have no effect on compiled code.
type JITOption func(*jit)

// JITMaxRegisters limits the registers per thread, 1 to 255. The compiler raises a limit that is
// too low for the architecture and says so in the log.
func JITMaxRegisters(n int) JITOption {
	return jitNumber(cu.CU_JIT_MAX_REGISTERS, n, 1, 255)
}

// JITThreadsPerBlock makes the compiler leave enough registers for blocks of at least n threads, 1
// to 1024. It cannot be combined with JITTarget.
func JITThreadsPerBlock(n int) JITOption {
	return jitNumber(cu.CU_JIT_THREADS_PER_BLOCK, n, 1, 1024)
}

// JITOptLevel sets the optimisation level, 0 to 4. The default is 4.
func JITOptLevel(level int) JITOption { return jitNumber(cu.CU_JIT_OPTIMIZATION_LEVEL, level, 0, 4) }

// JITTarget compiles for the given architecture. The zero Arch, the default, is the context's. The
// result does not load on other devices, so the option is for a Linker whose image is stored. It
// cannot be combined with JITThreadsPerBlock.
func JITTarget(a image.Arch) JITOption {
	if a == (image.Arch{}) {
		return func(j *jit) {
			j.drop(cu.CU_JIT_TARGET)
			j.set(cu.CU_JIT_TARGET_FROM_CUCONTEXT, 0)
		}
	}
	target := cu.CUjit_target(a.Major*10 + a.Minor)
	switch a.Suffix {
	case 'a':
		target += cu.CU_TARGET_COMPUTE_90A - cu.CU_TARGET_COMPUTE_90
	case 'f':
		target += cu.CU_TARGET_COMPUTE_100F - cu.CU_TARGET_COMPUTE_100
	}
	return JITRaw(cu.CU_JIT_TARGET, uintptr(target))
}

// JITFallback selects what to do with a fat binary without an exact match.
func JITFallback(f cu.CUjit_fallback) JITOption {
	return JITRaw(cu.CU_JIT_FALLBACK_STRATEGY, uintptr(f))
}

// JITDebugInfo generates debug information.
func JITDebugInfo() JITOption { return JITRaw(cu.CU_JIT_GENERATE_DEBUG_INFO, 1) }

// JITLineInfo generates line numbers for profilers and compute-sanitizer.
func JITLineInfo() JITOption { return JITRaw(cu.CU_JIT_GENERATE_LINE_INFO, 1) }

// JITVerbose makes the compiler report registers and memory of each kernel in the log (Module.Log).
func JITVerbose() JITOption { return JITRaw(cu.CU_JIT_LOG_VERBOSE, 1) }

// JITCacheMode selects how loads are cached.
func JITCacheMode(m cu.CUjit_cacheMode) JITOption { return JITRaw(cu.CU_JIT_CACHE_MODE, uintptr(m)) }

// JITPositionIndependent generates position-independent code.
func JITPositionIndependent() JITOption { return JITRaw(cu.CU_JIT_POSITION_INDEPENDENT_CODE, 1) }

// JITMinBlocksPerMultiprocessor makes the compiler leave room for n blocks on each multiprocessor.
// It requires JITMaxThreadsPerBlock or the PTX's .maxntid.
func JITMinBlocksPerMultiprocessor(n int) JITOption {
	return jitNumber(cu.CU_JIT_MIN_CTA_PER_SM, n, 1, math.MaxInt32)
}

// JITMaxThreadsPerBlock declares that blocks have at most n threads.
func JITMaxThreadsPerBlock(n int) JITOption {
	return jitNumber(cu.CU_JIT_MAX_THREADS_PER_BLOCK, n, 1, 1024)
}

// JITOverrideDirectives makes the options above override directives in the PTX.
func JITOverrideDirectives() JITOption { return JITRaw(cu.CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1) }

// JITRaw passes any option whose value is a number. An older driver rejects options that it does
// not know.
func JITRaw(option cu.CUjit_option, value uintptr) JITOption {
	return func(j *jit) { j.set(option, value) }
}

// jitNumber is an option with a range. A value outside it is an error of the load.
func jitNumber(o cu.CUjit_option, n, least, most int) JITOption {
	return func(j *jit) {
		if n < least || n > most {
			j.refuse(invalidf("the JIT option %v is %d; it goes from %d to %d", o, n, least, most))
			return
		}
		j.set(o, uintptr(n))
	}
}

// jit is the option list of one load. The driver writes the logs while it compiles, which for a
// Library is when a kernel is first used. The loader keeps the jit pinned until then.
type jit struct {
	options   []cu.CUjit_option
	values    []uintptr // numbers and addresses, as void* in C
	info, err []byte
	input     string   // the linker's input that the error log is about; "" for none
	fault     error    // of an option
	done      []func() // read what the driver wrote into values
	pins      runtime.Pinner
}

// newJIT creates the list of a load, with buffers for the logs.
func newJIT(opts []JITOption, size logSize) (*jit, error) {
	j := &jit{info: make([]byte, size.info), err: make([]byte, size.err)}
	j.log(cu.CU_JIT_INFO_LOG_BUFFER, cu.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, j.info)
	j.log(cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, j.err)
	if err := j.apply(opts); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func (j *jit) apply(opts []JITOption) error {
	for _, o := range opts {
		if o != nil {
			o(j)
		}
	}
	if j.fault == nil && j.has(cu.CU_JIT_TARGET) && j.has(cu.CU_JIT_THREADS_PER_BLOCK) {
		j.refuse(invalidf("the JIT options JITTarget and JITThreadsPerBlock cannot be combined"))
	}
	return j.fault
}

func (j *jit) has(o cu.CUjit_option) bool { return slices.Contains(j.options, o) }

// refuse keeps the first mistake in the options.
func (j *jit) refuse(err error) {
	if j.fault == nil {
		j.fault = err
	}
}

func (j *jit) log(buffer, size cu.CUjit_option, b []byte) {
	j.pins.Pin(&b[0])
	j.set(buffer, uintptr(unsafe.Pointer(&b[0])))
	j.set(size, uintptr(len(b)-1))
}

func (j *jit) set(o cu.CUjit_option, v uintptr) {
	j.options = append(j.options, o)
	j.values = append(j.values, v)
}

func (j *jit) count() uint32 { return uint32(len(j.options)) }

func (j *jit) optionList() *cu.CUjit_option { return unsafe.SliceData(j.options) }

func (j *jit) valueList() *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(j.values)))
}

// answered passes on what the driver wrote into the values.
func (j *jit) answered() {
	for _, read := range j.done {
		read()
	}
}

// close unpins the log buffers.
func (j *jit) close() { j.pins.Unpin() }

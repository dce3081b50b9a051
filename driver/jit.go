package driver

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

// JITOption changes how the driver compiles and links code: [WithJIT], [WithTarget], [WithJITTime].
type JITOption func(*jit)

// WithJIT passes an option of the driver's compiler whose value is a number. Compiler options have
// no effect on compiled code. An older driver rejects options that it does not know.
//
//	CU_JIT_MAX_REGISTERS              registers per thread at most, 1 to 255
//	CU_JIT_THREADS_PER_BLOCK          leave registers for blocks of so many threads, 1 to 1024
//	CU_JIT_OPTIMIZATION_LEVEL         0 to 4, the default
//	CU_JIT_FALLBACK_STRATEGY          for a fat binary without an exact match: a CUjit_fallback
//	CU_JIT_GENERATE_DEBUG_INFO        1: debug information
//	CU_JIT_GENERATE_LINE_INFO         1: line numbers for profilers and compute-sanitizer
//	CU_JIT_LOG_VERBOSE                1: registers and memory of each kernel in the log (Module.Log)
//	CU_JIT_CACHE_MODE                 how loads are cached: a CUjit_cacheMode
//	CU_JIT_POSITION_INDEPENDENT_CODE  1: position-independent code
//	CU_JIT_MAX_THREADS_PER_BLOCK      blocks have at most so many threads, 1 to 1024
//	CU_JIT_MIN_CTA_PER_SM             room for so many blocks on each multiprocessor, from 1; it
//	                                  requires the option before or the PTX's .maxntid
//	CU_JIT_OVERRIDE_DIRECTIVE_VALUES  1: these override directives in the PTX
//	CU_JIT_SPLIT_COMPILE              threads per image; 0: all processors; default 1 (CUDA 13.0)
func WithJIT(option cu.CUjit_option, value int) JITOption {
	return func(j *jit) {
		if r, ok := jitRanges[option]; ok && (value < r.least || value > r.most) {
			j.refuse(invalidf("the JIT option %v is %d; it goes from %d to %d", option, value, r.least, r.most))
			return
		}
		j.set(option, uintptr(value))
	}
}

// jitRanges are the values that options accept. The compiler raises a limit of registers that is too
// low for the architecture and says so in the log.
var jitRanges = map[cu.CUjit_option]struct{ least, most int }{
	cu.CU_JIT_MAX_REGISTERS:         {1, 255},
	cu.CU_JIT_THREADS_PER_BLOCK:     {1, 1024},
	cu.CU_JIT_OPTIMIZATION_LEVEL:    {0, 4},
	cu.CU_JIT_MIN_CTA_PER_SM:        {1, math.MaxInt32},
	cu.CU_JIT_MAX_THREADS_PER_BLOCK: {1, 1024},
	cu.CU_JIT_SPLIT_COMPILE:         {0, math.MaxInt32},
}

// WithTarget compiles for the given architecture. The zero Arch, the default, is the context's. The
// result does not load on other devices, so the option is for a Linker whose image is stored. It
// cannot be combined with CU_JIT_THREADS_PER_BLOCK.
func WithTarget(a image.Arch) JITOption {
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
	return WithJIT(cu.CU_JIT_TARGET, int(target))
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
		j.refuse(invalidf("the JIT options CU_JIT_TARGET and CU_JIT_THREADS_PER_BLOCK cannot be combined"))
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

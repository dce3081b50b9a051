package driver

import (
	"math"
	"slices"
	"time"
)

// JITTargetFromContext compiles for the context's device, which is the default;
// it undoes an earlier JITTarget.
func JITTargetFromContext() JITOption {
	return func(j *jit) {
		j.drop(CU_JIT_TARGET)
		j.set(CU_JIT_TARGET_FROM_CUCONTEXT, 0)
	}
}

// JITTargetArch is JITTarget with an architecture by its name: sm_90a.
func JITTargetArch(a Arch) JITOption {
	target := CUjit_target(a.Major*10 + a.Minor)
	switch a.Suffix {
	case 'a':
		target += CU_TARGET_COMPUTE_90A - CU_TARGET_COMPUTE_90
	case 'f':
		target += CU_TARGET_COMPUTE_100F - CU_TARGET_COMPUTE_100
	}
	return JITTarget(target)
}

// JITSplitCompile compiles the kernels of one image by n threads, 0 for as many
// as the host has processors; 1, the default, is no splitting. Since CUDA 13.0;
// an older driver refuses it.
func JITSplitCompile(n int) JITOption { return jitNumber(CU_JIT_SPLIT_COMPILE, n, 0, math.MaxInt32) }

// JITWallTime stores how long the driver's compiler and linker took, whether
// they succeed or not. Of a Library it is what was compiled at the load.
func JITWallTime(t *time.Duration) JITOption {
	return func(j *jit) {
		j.set(CU_JIT_WALL_TIME, 0)
		j.done = append(j.done, func() {
			*t = milliseconds(uint32(j.values[slices.Index(j.options, CU_JIT_WALL_TIME)]))
		})
	}
}

// milliseconds reads the bits of a float.
func milliseconds(bits uint32) time.Duration {
	return time.Duration(float64(math.Float32frombits(bits)) * float64(time.Millisecond))
}

// drop removes an option that was set before.
func (j *jit) drop(o CUjit_option) {
	for i := slices.Index(j.options, o); i >= 0; i = slices.Index(j.options, o) {
		j.options, j.values = slices.Delete(j.options, i, i+1), slices.Delete(j.values, i, i+1)
	}
}

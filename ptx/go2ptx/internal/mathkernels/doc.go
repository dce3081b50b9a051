// Package mathkernels tests ptx/gpu/math, ptx/gpu/math32 and the approximate instructions of ptx/gpu
// as compiled kernels, on the emulator and on a GPU. It has tests only. The kernels are compiled when
// the test runs, so a test binary needs no Go toolchain.
package mathkernels

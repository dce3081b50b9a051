// Package mathkernels tests ptx/gpu/math, ptx/gpu/math32 and the approximate instructions of
// ptx/gpu in compiled kernels, on the emulator and on a GPU. It contains only tests. They compile
// the kernels at run time, so the test binary does not need a Go toolchain.
package mathkernels

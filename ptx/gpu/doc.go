// Package gpu is imported by kernels written in Go. A kernel is a Go function without results whose
// first parameter is a Thread:
//
//	// saxpy adds a*x to y.
//	//
//	//gpu:kernel block=256
//	func saxpy(t gpu.Thread, a float32, x, y []float32) {
//		if i := t.GlobalX(); i < len(y) {
//			y[i] += a * x[i]
//		}
//	}
//
// The command go2ptx compiles kernels to PTX and generates a typed function that launches each
// kernel. Its documentation lists the options of the directive gpu:kernel, such as restrict. The
// same kernel also runs as plain Go, in tests and under a debugger, without a GPU:
//
//	err := gpu.Run(gpu.D1(4), gpu.D1(256), func(t gpu.Thread) { saxpy(t, 2, x, y) })
//
// Run starts a goroutine for each thread of a block. Barriers, shared memory, atomics, shuffles and
// votes work as they do on a device. If a thread panics, Run returns a *Panic that contains the
// thread and the source line. In the compiled kernel, a failed check ends only its thread, and the
// host's next wait returns a *driver.KernelFault. If all threads wait for each other, Run returns a
// *Deadlock that contains the lines at which they wait. Functions that Run cannot simulate panic
// with a message that refers to the emulator, which executes the compiled kernel on the CPU.
//
// # The thread
//
// Pass the Thread to every function that needs an index, a barrier or shared memory. On a device,
// it has size zero. Its indices are ints that are never negative. The zero Thread is the only
// thread of its grid, so tests can also call such functions without Run.
//
// # Memory
//
// Slices and pointers that a kernel receives refer to device memory. A local array belongs to one
// thread. Shared returns a variable that all threads of a block share:
//
//	tile := gpu.Shared[[16][17]float32](t)
//	tile[t.ThreadY()][t.ThreadX()] = x[i]
//	t.Sync()
//
// To load or store several elements with one instruction, convert a slice to an array pointer, as
// in *(*[4]float32)(x[i:]). As always in Go, the conversion checks the length. Package-level
// variables that no kernel changes become constant memory. The host can set variables of type
// Global and Constant. A struct that is passed by value may contain a View instead of a slice.
//
// # Warps
//
// Shuffles, votes, matches and reductions exchange data among the lanes of a warp. Each call waits
// until all lanes of its mask that have not exited make the same call with the same mask. The
// functions without Mask in their name use all lanes. A mask must contain the calling lane. The
// value of a lane that has exited or is not in the mask is undefined. Under Run, it is a NaN
// pattern.
//
// # Numbers
//
// Go's operators and conversions have the same results as on a CPU. Package num provides 16-bit and
// 8-bit types. The compiler recognizes the functions of math/bits. Functions whose names begin with
// Approx are approximate hardware instructions. Package gpu/math32 provides accurate functions, and
// fast ones whose errors are documented. If an argument must be a constant, the documentation of
// the function says so.
//
// # NVIDIA's names
//
// Names in parentheses are those of CUDA C++ or PTX, which NVIDIA documents:
//
//   - CUDA C++: https://docs.nvidia.com/cuda/cuda-c-programming-guide/
//   - PTX: https://docs.nvidia.com/cuda/parallel-thread-execution/
//
// The page docs/kernels-from-cuda.md lists the Go equivalent of each part of CUDA C++. A
// requirement such as sm_80 refers to the architecture of the GPU. The compiler raises the target
// of a kernel automatically.
package gpu

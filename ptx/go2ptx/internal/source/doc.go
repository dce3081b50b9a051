// Package source reads the Go source of kernels and type-checks the kernels and the declarations
// they use.
//
// The package does no I/O: the caller supplies the source in memory, and a callback supplies
// imported packages. The result depends only on this input, not on the machine.
//
// # What is read
//
// All files of a package are parsed, except for test files, files that go2ptx generated, and files
// that the build constraints exclude. The constraints are evaluated for one fixed context. Starting
// from the kernels, the loader finds by name the declarations they use, directly or indirectly:
// functions, types, methods whose names occur, constants, and variables with their initial values.
// Only these are type-checked. Host code in the same package can therefore call a launcher that
// does not exist yet, import any package, or even be broken. An imported package is loaded when one
// of its names is used, and pruned in the same way.
//
// # Intrinsics
//
// A function without a body is an intrinsic: package lower must support it, by package and name. In
// this library, a function with the directive
//
//	//gpu:intrinsic
//
// is an intrinsic as well. Its body is only for the host and is dropped. A type of package gpu with
// the directive
//
//	//gpu:opaque
//
// is an empty struct on the device, because its fields are only for the host. The type Thread is
// always empty. A function or type of this library with the directive
//
//	//gpu:host
//
// cannot be used in kernels.
//
// The folder std contains declarations for the standard library packages cmp, iter, math, math/bits
// and slices: small functions with a body, and functions without a body for which the device has an
// instruction. If a kernel uses another function of such a package, the package's source in the Go
// distribution is compiled instead. Functions that have no body in std remain intrinsics. In this
// case Program.GoSource is true, because the result depends on the Go version.
//
// Functions of the distribution that work only on a host, such as those of fmt, have no body either.
// Errors in the distribution are not reported as such: Program.Broken has them, and package lower
// reports them where the user's code calls the function.
//
// # Directives
//
// Directives are comment lines directly above a function, without a space after the slashes. Any
// other comment that begins with //gpu: is an error.
//
//	//gpu:kernel block=256 restrict=next
//
// makes the function a kernel. Its options can be in any order:
//
//	block=256      the size of a block: 256, 16x16 or 8x8x8. Launches with another size fail.
//	maxblock=256   instead of block: the maximum number of threads in a block
//	cluster=2      the size of a cluster in blocks: 2, 2x2 or 2x2x2
//	minblocks=2    the minimum number of blocks that should be resident on a multiprocessor
//	regs=64        the maximum number of registers per thread
//	shared=4096    bytes of dynamic shared memory
//	restrict       slices and pointers that the kernel writes to do not overlap any others
//	restrict=a,b   the memory of these parameters does not overlap that of any other parameter
//	trap           a failed check traps, which ends the context, instead of writing a record
//	fma=off        multiplications and additions are not fused
//	name=fast_step the name in the PTX; the default is the name of the function
//	launcher=Fast  the Go type that launches the kernel; the default is the function's name, exported,
//	               and for an exported function its name and Kernel
//
// The other directives:
//
//	//gpu:instance float32 num.F16   instances of a generic kernel, separated by spaces
//	//gpu:instance float32,int32     with two type parameters: separated by commas, without spaces
//	//gpu:nobounds                   indices, slices and the alignment of vectors are not checked
//	                                 in this function
//	//gpu:noinline                   calls of this function are not inlined
//
// This directive is directly above a loop, or above its label:
//
//	//gpu:unroll 8                   8 iterations are executed at a time; 0 or 1: one at a time
package source

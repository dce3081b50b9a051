// Package source reads the Go source of kernels and type-checks the part that they reach.
//
// It does no I/O: the source arrives in memory, and a callback supplies imported packages. Its
// result depends only on that input, not on the machine.
//
// # What is read
//
// A package is parsed in full, without test files, without files that go2ptx generated, and with
// the build constraints of one fixed context. See Context. From the kernels, the declarations that
// they mention are found by name: functions, types, the methods whose names are mentioned,
// constants and variables with their initial values. Only these are type-checked. Host code in the
// same package can therefore call a launcher that does not exist yet, import any package, or be
// broken. Imported packages are loaded when a name of theirs is reached, and pruned in the same
// way.
//
// # Intrinsics
//
// A function without a body is an intrinsic: lowering must know it by package and name. In this
// library, a function with the directive
//
//	//gpu:intrinsic
//
// is one too. Its body runs only on the host and is dropped. A type of package gpu with the
// directive
//
//	//gpu:opaque
//
// is an empty struct on the device, because its fields are for the host. Thread always is. A function
// or type of this library with the directive
//
//	//gpu:host
//
// cannot be used in kernels.
//
// Of the standard library, the packages cmp, iter, math, math/bits and slices are declared here,
// in the folder std: small functions with a body, those for which the device has an instruction
// without. If a kernel uses another function of such a package, the package of the Go
// distribution is compiled instead. Its functions that are declared here remain intrinsics if they
// have no body here. Program.GoSource is then true, because the result depends on the version of
// Go.
//
// # Directives
//
// Directives are comment lines directly above a function, without a space after the slashes. Any
// other comment that begins with //gpu: is an error.
//
//	//gpu:kernel block=256 restrict=next
//
// makes the function a kernel. Its options, in any order:
//
//	block=256      the size of a block: 256, 16x16 or 8x8x8. Launches with another size fail.
//	maxblock=256   instead of block: the largest number of threads in a block
//	cluster=2      the size of a cluster, in blocks: 2, 2x2 or 2x2x2
//	minblocks=2    the least number of blocks that should be resident on a multiprocessor
//	regs=64        the most registers that a thread may use
//	shared=4096    bytes of dynamic shared memory
//	restrict       no two slices or pointers overlap, if the kernel writes one of them
//	restrict=a,b   the memory of these parameters overlaps no other parameter's
//	trap           a failed check traps, which ends the context, instead of leaving a record
//	fma=off        multiplications and additions are not fused
//	name=fast_step the name in the PTX, by default the name of the function
//	launcher=Fast  the Go type that launches the kernel, by default the function's name in upper case
//
// The other directives:
//
//	//gpu:instance float32 num.F16   instances of a generic kernel, separated by spaces
//	//gpu:instance float32,int32     with two type parameters: separated by commas, without spaces
//	//gpu:nobounds                   indices and slices in this function are not checked
//	//gpu:noinline                   calls of this function are not inlined
package source

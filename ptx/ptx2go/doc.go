// Ptx2go generates typed Go launchers for the kernels in PTX files or CUDA sources. It
// compiles sources with nvcc if it finds one, else with NVRTC, a library of about 20 MB
// that has packages of its own (pip: nvidia-cuda-nvrtc, conda: cuda-nvrtc, Debian:
// libnvrtc). In a module that requires this one:
//
//	go get -tool github.com/purecuda/cuda/ptx/ptx2go
//
//	//go:generate go tool ptx2go -pkg kernels *.ptx
//
// For each file axpy.ptx it writes axpy_ptx.go, which embeds the text and has a type
// for each kernel. For all files together it writes kernels_set_ptx.go:
//
//	ks, err := kernels.LoadKernels(ctx)       // everything, or nothing
//	defer ks.Close()
//
//	cfg := ks.Axpy.Grid(n)                    // a thread per element
//	err = ks.Axpy.Do(stream, cfg, x.All(), y.All(), 2, uint32(n))
//
//	op, err := ks.Axpy.Op(cfg, x, y, 2, uint32(n)) // for graphs: a *driver.Launch
//
//	args, err := ks.Axpy.Prepare(cfg, x, y, 2, uint32(n))
//	err = args.Alpha.Set(3)                   // another value for the next step
//	err = stream.Do(args.Launch)
//
// Do and the setters of a prepared launch do not allocate, unless memory of unknown
// element type is passed as a View. Do also accepts a scope of package graph instead of
// the stream and then records the launch.
//
// # Names and types
//
// PTX states how large a parameter is and whether it is a float, but not what a pointer
// points to, and the compiler replaces names by numbers. Ptx2go looks for the rest in
// these places. Later ones override earlier ones:
//
//   - in the CUDA source: axpy.cu beside axpy.ptx, or in the directory of -src.
//     Its __global__ functions give names, types, structs and comments. A const
//     pointer is one that the kernel only reads.
//   - in the comment above the kernel, in the source or in the PTX (see below),
//   - in -types and -name.
//
// A pointer to elements of unknown type accepts any driver.Memory. That a .u64 is a
// pointer shows in how the kernel's body uses it. The names of C++ kernels are
// demangled: scan<unsigned> of namespace ops becomes OpsScanUint32. __half and
// __nv_bfloat16 become num.F16 and num.BF16. A struct passed by value becomes a Go
// struct with the padding of C, whose size is checked at compile time. A struct that
// cannot be parsed becomes an array of bytes.
//
// # Comments
//
// Lines of the comment above a kernel that begin with ptx2go: are directives. The
// others are its documentation:
//
//	// Axpy adds alpha times x to y.
//	//
//	// ptx2go: in x float32, inout y float32, alpha float32, n uint32
//	// ptx2go: block 128
//	// ptx2go: name Add
//
// The first describes parameters. If it has all of them, it names them in order;
// otherwise it refers to some by their names. The word before the name is what the
// kernel does to the memory: in, out or inout, from which package graph derives edges.
// The word raw makes the parameter an address as a number, driver.CUdeviceptr. After
// the name comes the Go type of the value or of the memory's elements: a number,
// num.F16, num.BF16, an array, or a type of the package. The other directives:
//
//	block 16x16   the blocks of Grid, where the kernel does not fix them
//	name Add      the Go name
//	skip          no Go for this kernel
//	struct Shape { N uint32; Dims [4]uint64 }   declares a type
//
// # Kernels of a library
//
// With -embedded there is no set to load and close. Each kernel has a function
// AxpyIn(ctx) instead, whose code belongs to the context. It is loaded on first use,
// also during a capture, and unloaded with the context. AxpyModule(ctx) returns that
// code, for finding kernels by name.
//
// If kernels in several files have the same name, -qualify prefixes the Go names with
// the file names. -forms op omits the methods a package does not use.
//
// # Checking
//
// With -check nothing is written. The exit status is 1 if a file on disk differs from
// what would be written. The output depends only on the inputs and flags, not on their
// order.
package main

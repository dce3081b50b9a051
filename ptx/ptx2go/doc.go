// Ptx2go generates typed Go launchers for the kernels in PTX files or CUDA sources. It
// compiles sources with nvcc or, if there is no nvcc, with NVRTC. NVRTC is a library of
// about 20 MB in a separate package (pip: nvidia-cuda-nvrtc, conda: cuda-nvrtc, Debian:
// libnvrtc). To use ptx2go in a module:
//
//	go get -tool github.com/purecuda/cuda/ptx/ptx2go
//
//	//go:generate go tool ptx2go -pkg kernels *.ptx
//
// For each file axpy.ptx, ptx2go writes axpy_ptx.go, which embeds the text and declares a
// type for each kernel. It also writes kernels_set_ptx.go, which loads all files:
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
// Do and the setters of a prepared launch do not allocate. The exception is memory of
// unknown element type passed as a View. Instead of a stream, Do also accepts a scope of
// package graph, which records the launch.
//
// # Names and types
//
// PTX contains the size of a parameter and whether it is a float, but not the element
// type of a pointer. The compiler also replaces parameter names with numbers. Ptx2go
// takes the missing information from these places. Later places override earlier ones:
//
//   - in the CUDA source: axpy.cu beside axpy.ptx, or in the directory of -src.
//     Its __global__ functions supply names, types, structs and comments. A const
//     pointer is one that the kernel only reads.
//   - in the comment above the kernel, in the source or in the PTX (see below),
//   - in -types and -name.
//
// A pointer to elements of unknown type accepts any driver.Memory. Ptx2go recognizes a
// .u64 as a pointer by its uses in the body of the kernel. The names of C++ kernels are
// demangled: scan<unsigned> of namespace ops becomes OpsScanUint32. __half and
// __nv_bfloat16 become num.F16 and num.BF16, and __nv_fp8_e4m3 and __nv_fp8_e5m2 become
// num.E4M3 and num.E5M2. A struct passed by value becomes a Go struct with the padding of C. Its size is checked at compile time. A struct that cannot be
// parsed becomes an array of bytes.
//
// # Comments
//
// In the comment above a kernel, lines that begin with ptx2go: are directives. The other
// lines are its documentation:
//
//	// Axpy adds alpha times x to y.
//	//
//	// ptx2go: in x float32, inout y float32, alpha float32, n uint32
//	// ptx2go: block 128
//	// ptx2go: name Add
//
// The first directive describes parameters. If it lists all parameters, it names them in
// order. Otherwise it refers to existing names. The words in, out and inout declare how
// the kernel accesses the memory. Package graph derives edges from them. The word raw
// makes the parameter a plain address of type driver.CUdeviceptr. The name is followed by
// the Go type of the value or of the elements of the memory. The type is a number,
// a type of package num, an array, or a type of the package. The other directives:
//
//	block 16x16   the blocks of Grid, where the kernel does not fix them
//	name Add      the Go name
//	skip          no Go for this kernel
//	struct Shape { N uint32; Dims [4]uint64 }   declares a type
//
// # Kernels of a library
//
// With -embedded there is no set to load and close. Instead, each kernel has a function
// AxpyIn(ctx), and the context owns the code. The context loads the code on first use,
// even during a capture, and unloads it when it is closed. AxpyModule(ctx) returns the
// module, for finding kernels by name.
//
// If kernels in several files have the same name, -qualify prefixes the Go names with the
// file names. -forms op omits the methods a package does not use.
//
// # Checking
//
// With -check, ptx2go writes nothing. It exits with status 1 if a file on disk differs
// from the output. The output depends only on the inputs and flags, not on their order.
package main

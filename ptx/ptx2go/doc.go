// Ptx2go makes typed Go of the kernels in PTX files, or in CUDA sources. Sources
// are compiled by nvcc where it is found, and else by NVRTC, a library of some
// 20 MB that is packaged alone (pip: nvidia-cuda-nvrtc, conda: cuda-nvrtc, Debian:
// libnvrtc). In a module that requires this one:
//
//	go get -tool github.com/purecuda/cuda/ptx/ptx2go
//
//	//go:generate go tool ptx2go -pkg kernels *.ptx
//
// For each file axpy.ptx it writes axpy_ptx.go, which embeds the text and has a
// type for each kernel, and for all of them kernels_set_ptx.go:
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
// Do and the setters of a prepared launch do not allocate, except where memory
// of unknown elements is passed as a View. Do also takes a scope of package
// graph in the stream's place, and then records the launch.
//
// # Names and types
//
// PTX says how large a parameter is and whether it is a float, but not what a
// pointer points to, and the compiler replaces names by numbers. What is missing
// is looked for, later ones first:
//
//   - in the CUDA source: axpy.cu beside axpy.ptx, or in the directory of -src.
//     Its __global__ functions give names, types, structs and comments. A const
//     pointer is one that the kernel only reads.
//   - in the comment above the kernel, there or in the PTX (see below),
//   - in -types and -name.
//
// A pointer of which nothing is known takes any driver.Memory; that a .u64 is a
// pointer is seen from what the kernel's body does with it. The names of C++
// kernels are taken apart: scan<unsigned> of namespace ops is OpsScanUint32.
// __half and __nv_bfloat16 are num.F16 and num.BF16. A struct that is passed by
// value becomes a Go struct with the padding of C, and its size is checked when it
// is compiled; one that could not be read is an array of bytes.
//
// # Comments
//
// Lines of the comment above a kernel that begin with ptx2go: are directions,
// the others are its documentation:
//
//	// Axpy adds alpha times x to y.
//	//
//	// ptx2go: in x float32, inout y float32, alpha float32, n uint32
//	// ptx2go: block 128
//	// ptx2go: name Add
//
// The first describes parameters: as many as there are, in order, which names
// them, or some by their names. Before the name stands what the kernel does to
// the memory, in, out or inout, which is what package graph derives edges from;
// raw is an address as a number, driver.CUdeviceptr. Behind it stands the Go type
// of the value or of the memory's elements: a number, num.F16, num.BF16, an array,
// or a type of the package. The other directions:
//
//	block 16x16   the blocks of Grid, where the kernel does not fix them
//	name Add      the Go name
//	skip          no Go for this kernel
//	struct Shape { N uint32; Dims [4]uint64 }   declares a type
//
// # Kernels of a library
//
// With -embedded there is no set to load and close. Each kernel has a function
// instead, AxpyIn(ctx), whose code belongs to the context: it is loaded when it
// is first asked for, in captures too, and goes with the context. AxpyModule(ctx)
// is that code, for kernels that are found by their names.
//
// Where files have kernels of the same names, -qualify begins the Go names with
// the files'. -forms op leaves out what a package does not use.
//
// # Checking
//
// With -check nothing is written; the exit status is 1 if a file is not what it
// would be. Output depends on the inputs and flags alone, not on their order.
package main

// Package kernels provides kernels that graph programs often need, such as fills, casts,
// strided copies, elementwise arithmetic, reductions, softmax, norms, matrix-vector
// products and convolutions. They are embedded as PTX, and a program contains only the families that it
// uses. They run on every device of compute capability 5.2 or later, with drivers for
// CUDA 11.4 or later.
//
// Each function creates an operation, a [driver.Launch], without running it. An operation
// can run on a stream, be captured, and become or replace a graph node. Creating one
// allocates no device memory, and enqueueing it allocates nothing. The operation declares
// the accesses of the kernel, from which a graph can derive and check edges.
//
//	op, err := kernels.Fill(x, float32(1))
//	err = stream.Do(op)
//	node, err := g.Add(op)
//
// [Fill] and [Iota] initialize memory. [Cast] converts element types. [StridedCopy],
// [Transpose] and [Gather] move elements or rows. [Axpy], [Add], [AddScalar] and similar
// functions do arithmetic. [GELU], [SiLU], [Exp] and others apply a function to each
// element. [Sum], [Max], [Min] and [Argmax] reduce arrays, and [SumRows] and similar
// functions reduce the rows of a [Matrix]. [Softmax], [RMSNorm] and [LayerNorm] process
// rows, and [Rope] processes [Heads]. [Gemv] and [GemvQuantized] multiply a matrix by a vector,
// [GemvRMSNorm] and [GemvQuantizedRMSNorm] by a vector that they normalize, and [Gemm] by a matrix. [Conv1D] and
// [Conv2D] compute convolutions. [InclusiveSum]
// and [ExclusiveSum] compute prefix sums, and [Sort] and [SortPairs] sort. [TopK] finds the largest elements of rows. [FFT] transforms rows. [Histogram] counts
// values. [RandomBits], [RandomUniform] and [RandomNormal] compute random numbers. [SetCond]
// and [SetCondWhen] set the condition of a conditional node to a computed value.
//
// Algorithms that need several launches, such as [Sort], return a slice of operations, which
// must run in order:
//
//	ops, err := kernels.Sort(dst, src, false, work)
//	err = stream.Do(ops...)
//	nodes, err := g.AddBatch(nil, graph.Chain(ops))
//
// Package [github.com/purecuda/cuda/ptx/kernels/fused] computes a chain of elementwise operations with
// one kernel.
//
// # Operands
//
// Operands are buffers, or views that may begin at any element. Elementwise kernels write
// with accesses of 16 bytes wherever dst begins, and read in the same way the operands
// whose addresses differ from that of dst by a multiple of 16 bytes. With empty operands, an operation
// does nothing. An operation that reads and writes the same element type may work in
// place. Operands that overlap partially cause an error.
//
// Each function documents the position of its arguments. [driver.ArgOf] and
// [driver.SetArg] change arguments of an operation. Lengths and shapes are separate
// arguments, so replacement memory must be at least as long as the original. Overlap with
// other operands is not checked.
//
// # Lifetimes
//
// A context loads the code of a kernel when it creates the first operation that uses it, even during a
// capture. The driver compiles the code for the element types of the operation and for what it
// computes, and keeps the result for later processes. Closing the context unloads the code. Operations
// need not be closed.
//
// # Reusing an operation
//
// Each function accepts, as its last argument, an operation that is no longer needed. If that
// operation launches the same kernel in the same context, compiled for the same types and the same
// computation, and the same operands are nil, the function sets its operands, numbers and grid, and
// returns it. Otherwise, or if the argument is nil, the function creates a new operation. A loop
// therefore needs one variable, and allocates nothing after its first iteration:
//
//	var op *driver.Launch
//	for _, batch := range batches {
//		if op, err = kernels.Softmax(batch, batch, 1, op); err != nil {
//			return err
//		}
//		if err = stream.Do(op); err != nil {
//			return err
//		}
//	}
//
// Work that was already enqueued, recorded or added to a graph keeps its operands. After
// an error, the reused operation may have some of the new operands: do not enqueue it.
// Only one goroutine at a time may reuse an operation.
//
// A function that returns a slice accepts that slice: kernels.Sort(dst, src, false, work, ops...).
// It returns the same slice.
//
// If only one number or address changes and the grid does not, [driver.ArgOf] is cheaper.
//
// # Kernels
//
// The kernels are written in Go. Their source is in the packages below internal.
// [driver.Launch.Kernel] returns the kernel of an operation, for a launch with a configuration of your
// own. The kernel ignores arguments for which its code was compiled: each function documents them as
// arguments that must not be changed. [driver.Launch.SetConfig] changes the configuration of an
// operation. [Texts] returns the PTX files.
package kernels

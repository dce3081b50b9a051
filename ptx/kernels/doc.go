// Package kernels is a small set of kernels that graph programs often need: fills,
// casts, strided copies, elementwise arithmetic, reductions, softmax, norms,
// matrix-vector products and the like. They are embedded as PTX, and a program contains
// only the families that it uses. They run on every device since compute capability 5.2
// with every driver since CUDA 11.4.
//
// Each function creates an operation without running it: a [driver.Launch], which runs
// on a stream, is captured, becomes a node of a graph or replaces one. Nothing is
// allocated on the device, and enqueueing an operation allocates nothing at all. The
// operation declares what the kernel reads and writes, so that edges can be derived and
// checked.
//
//	op, err := kernels.Fill(x, float32(1))
//	err = stream.Do(op)
//	node, err := g.Add(op)
//
// [Fill] and [Iota] write. [Cast] converts. [StridedCopy] and [Transpose] move elements,
// [Gather] moves rows. [Axpy], [Add] and its relatives, [AddScalar] and its relatives
// compute, and so do functions such as [GELU], [SiLU] and [Exp]. [Sum], [Max], [Min]
// and
// [Argmax] reduce arrays, and SumRows and its relatives the rows of a [Matrix]. [Softmax],
// [RMSNorm] and [LayerNorm] work on rows, [Rope] on [Heads]. [Gemv] multiplies a matrix with
// a vector. [SetCond] and [SetCondWhen] let a computed value decide about a conditional
// node.
//
// # Operands
//
// Operands are buffers, or views that may begin at any element. Kernels use wide
// accesses as far as the alignment of all operands allows. Empty operands are allowed:
// the operation then does nothing. An operation that reads and writes one element type
// may work in place. Operands that overlap partially are refused.
//
// Each function documents the position of its arguments. [driver.ArgOf] and
// [driver.SetArg] change arguments of an operation. Lengths and shapes are arguments of
// their own, so replacement memory must be at least as long, and nothing checks whether
// it overlaps other operands.
//
// # Lifetimes
//
// A context loads the code when the first operation of its kind is created there, also
// during a capture, and unloads it when the context is closed. There is nothing to
// close.
//
// # Reusing an operation
//
// Each function takes, as its last argument, an operation that is no longer needed. If
// that one launches the same kernel in the same context, it gets the new operands,
// numbers and grid, and is returned. Otherwise, and if it is nil, the function creates
// a new operation. So a loop needs one variable, and allocates nothing after its first
// round:
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
// What was enqueued, recorded or added to a graph before keeps its operands. After an
// error the operation that was passed has some of the new operands: do not enqueue it.
// Only one goroutine at a time may use an operation in this way.
//
// [driver.ArgOf] is cheaper if one number or address changes and the grid does not.
//
// # Kernels
//
// [driver.Launch.Kernel] returns the kernel of an operation, for a launch with a configuration
// of your own, and [driver.Launch.SetConfig] changes the configuration of an operation.
// [Texts] returns the PTX files.
package kernels

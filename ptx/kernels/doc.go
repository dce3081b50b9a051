// Package kernels is a small set of kernels that graph programs keep needing:
// fills, casts, strided copies, elementwise arithmetic, reductions, softmax,
// norms, products with vectors and the like. They are embedded as PTX, and a
// program has the texts of the families that it uses, no others. They run on every
// device since compute capability 5.2 with every driver since CUDA 11.4.
//
// Each function makes an operation without running it: a [driver.Launch], which
// runs on a stream, is captured, becomes a node of a graph or takes the place
// of one. Nothing is allocated on the device, and sending an operation
// allocates nothing at all. What the kernel reads and what it writes is
// declared, so that edges can be derived and checked.
//
//	op, err := kernels.Fill(x, float32(1))
//	err = stream.Do(op)
//	node, err := g.Add(op)
//
// [Fill] and [Iota] write; [Cast] converts; [StridedCopy] and [Transpose] move
// elements, [Gather] rows; [Axpy], [Add] and its like, [AddScalar] and its like
// compute, and so do functions such as [GELU], [SiLU] and [Exp]. [Sum], [Max],
// [Min] and [Argmax] reduce arrays, and rows of a [Matrix] as SumRows does;
// [Softmax], [RMSNorm] and [LayerNorm] work on rows, [Rope] on [Heads], [Gemv]
// multiplies. [SetCond] and [SetCondWhen] let what was computed decide about a
// conditional node.
//
// # Operands
//
// Operands are buffers or views at any element: wide accesses are used as far as
// all operands of an operation can be aligned. No elements at all are fine: then
// the operation does nothing. An operation of one element type for what it reads
// and writes may work in place. Operands that overlap in part are refused.
//
// The functions say at which place each argument is. [driver.ArgOf] and
// [driver.SetArg] change arguments of an operation; lengths and shapes
// are arguments of their own, so memory that takes the place of other memory
// has to be at least as long, and if it overlaps others nobody sees it.
//
// # Lifetimes
//
// The code is loaded into a context when the first operation of its kind is made
// there, also while something is being captured, and is unloaded with the
// context. There is nothing to close.
//
// # Making an operation again
//
// Each function takes, as its last argument, an operation that is no longer needed.
// If that launches the same kernel in the same context, it gets the new operands,
// numbers and grid, and is returned. Otherwise a new operation is made. nil is such an
// argument, too. So a loop needs one variable, and allocates nothing after its first
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
// What was enqueued, recorded or added to a graph before keeps the operands that it
// had. After an error the operation that was passed has some of the new operands: do
// not enqueue it. Only one goroutine at a time may use an operation in this way.
//
// [driver.ArgOf] is cheaper where one number or address changes and the grid does not.
//
// # Kernels
//
// [driver.Launch.Kernel] is the kernel of an operation, for a launch with a
// configuration of your own, and [driver.Launch.SetConfig] changes that of an
// operation. [Texts] are the PTX files.
package kernels

// Package fused computes an expression over whole arrays with one kernel. The program composes the
// expression while it runs, from the operations of package kernels:
//
//	x, c := fused.Input[float32]("x"), fused.Input[float32]("c")
//	a, b := fused.Scalar[float32]("a"), fused.Scalar[float32]("b")
//	y := fused.Mul(fused.GELU(fused.Add(fused.Mul(a, x), b)), c)
//
//	kernel, err := fused.New(y)
//	op, err := kernel.Op(dst, x.Bind(xs), c.Bind(cs), a.Bind(2), b.Bind(1))
//	err = stream.Do(op)
//
// The operation sets dst[i] = gelu(a·xs[i] + b)·cs[i]. It reads each input once and writes dst once,
// where separate operations would read and write memory four times.
//
// # Expressions
//
// An [Expr] is built from values of three kinds: an [Input] has one element for each element of the
// destination, a [Scalar] is one number for all elements, and [Const] is a number that never changes.
// The Go compiler checks the types of operands. [Cast] converts between types. An expression that is
// used twice is computed once.
//
// # Results
//
// A function of float32 or float64 computes the same result as the function of package kernels with the
// same name, bit for bit. Nothing is fused to a multiply-add except by [FMA]. A float32 or float64
// expression therefore has the result of the separate operations. 16-bit expressions are computed in
// float32, and only the result and the operand of a Cast are rounded to 16 bits. They have the result of
// separate float32 operations on converted operands. The functions of package kernels for 16-bit
// elements are less accurate before they round, so a few of their results differ in the last bit. To
// round in between as separate 16-bit operations do, cast an expression to its own type.
//
// # Operations
//
// [Kernel.Op] returns a [driver.Launch], for streams, captures and graphs. The inputs and the
// destination may begin at any element. They are accessed with up to 16 bytes at a time, as in
// package kernels. An input may be the destination if both have the same type. Inputs that overlap
// the destination in another way cause an error.
//
// Argument 0 of the launch is dst, argument 1 the number of elements (uint64). The inputs and scalars
// follow, in the order in which the expression first uses them. The arguments have the names of the
// inputs and scalars, so [driver.Launch.ArgIndex] finds them. [Scalar.Arg] returns a scalar for
// changes between launches, and [Kernel.Update] changes all arguments. Both allocate nothing.
//
// # Lifetimes
//
// New writes the kernel as PTX. Equal expressions share a kernel. A context loads it when it creates
// the first operation, and unloads it when it is closed. A process keeps the PTX of each different
// expression until it ends.
package fused

package gpu

// Global is a device variable that keeps its value between kernels. Declare it as a package-level
// variable:
//
//	var hits gpu.Global[uint32]
//
//	gpu.AtomicAdd(hits.Ptr(), 1)
//
// For the host, go2ptx generates a function that returns the variable as a driver.View of one
// element. The function's name is the exported name of the variable, followed by In:
//
//	v, err := HitsIn(ctx)
//	err = v.CopyFrom([]uint32{0})
//
// Each loaded module has its own copy of the variable. Its name in the PTX is the same as in Go.
// Under Run, it is an ordinary Go variable.
type Global[T any] struct{ value T }

// GlobalOf returns a Global with an initial value, which must be a constant expression or a
// composite literal of constant expressions.
//
//gpu:intrinsic
func GlobalOf[T any](value T) Global[T] { return Global[T]{value} }

// Ptr returns the address of the variable.
//
//gpu:intrinsic
func (g *Global[T]) Ptr() *T { return &g.value }

// Load returns the value.
func (g *Global[T]) Load() T { return *g.Ptr() }

// Store sets the value.
func (g *Global[T]) Store(value T) { *g.Ptr() = value }

// Constant is a variable in constant memory that the host sets and kernels read. Declare it as a
// package-level variable. The host sets it in the same way as a Global. Each module has at most 64
// KiB of constant memory.
type Constant[T any] struct{ value T }

// ConstantOf returns a Constant with an initial value, which must be a constant expression or a
// composite literal of constant expressions.
//
//gpu:intrinsic
func ConstantOf[T any](value T) Constant[T] { return Constant[T]{value} }

// Ptr returns the address of the variable. Kernels must not write to it.
//
//gpu:intrinsic
func (c *Constant[T]) Ptr() *T { return &c.value }

// Load returns the value.
func (c *Constant[T]) Load() T { return *c.Ptr() }

// Simulate sets the value for Run. Kernels cannot call it.
//
//gpu:host
func (c *Constant[T]) Simulate(value T) { c.value = value }

package callable

import (
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
)

// Option configures New.
type Option func(*options)

type options struct {
	mode        graph.Mode
	max         int
	memory      uint64 // limit for all variants
	adaptive    bool
	first       int // eager calls of a shape before it is recorded
	instantiate []graph.Option
	arena       *arena.Arena
	shares      bool // WithArena was used
}

const defaultVariants = 8

// WithVariants sets the number of shapes that keep their memory and graph. The default is 8.
func WithVariants(n int) Option {
	return func(o *options) { o.max = n }
}

// WithMemory limits the memory of all variants together. This is the device and page-locked memory
// that StageSlice, StageScalar, Scratch, Take and Result return. There is no limit by default.
//
// After a new shape is recorded, the least recently called variants are closed until the remaining
// ones fit. During the recording, the memory of the new shape may exceed the limit. Variants whose
// work is in flight are closed by a later call, because closing them now would not release their
// memory.
//
// A shape that alone needs more than bytes cannot be called. The error matches
// CUDA_ERROR_OUT_OF_MEMORY, and no variant is closed.
//
// Other memory does not count: objects passed to [Trace.Own], allocations of a running graph, which
// the driver shares between the graphs of a device, the arena of WithArena, and the driver's own
// memory for executable graphs.
func WithMemory(bytes uint64) Option {
	return func(o *options) { o.memory = bytes }
}

// WithMode sets the mode in which the function is recorded. The default is ModeRelaxed.
func WithMode(m graph.Mode) Option {
	return func(o *options) { o.mode = m }
}

// WithAdaptive makes the Callable record a shape only if the shape is called repeatedly. The first
// n calls of each shape run eagerly: the function runs in each of them, and its operations are
// enqueued directly. The next call records the shape. A negative n is an error. With n = 0, the
// first call records.
//
// A shape returns to eager calls if recording it again costs more than it saves. Six calls in a row
// that update the graph reach that limit, as do two in a row whose update fails. Calls that only
// replay offset these costs. The shape is recorded again after 16 eager calls in a row with
// the same constants. Each later return to eager calls doubles that number, up to 4,096.
//
// Shapes whose function calls [Trace.Scope] are always recorded, as are the shapes of examples and
// of Prepare. On the per-thread stream, every shape is recorded.
func WithAdaptive(n int) Option {
	return func(o *options) { o.adaptive, o.first = true, n }
}

// WithArena allocates the memory of [Scratch] and the device memory of [StageSlice] and
// [StageScalar] from an arena. All shapes use the same addresses, as do other Callables and graphs
// of the arena. All shapes together then need about as much memory as the largest one. Each shape
// has its own [arena.Arena.SharedPlan], named after the function. [Result] and [Take] use memory
// outside the arena.
//
// When another graph of the arena runs, the contents of this memory are lost. In each call, the
// function must therefore write Scratch memory before it reads it.
//
// A call waits in stream order for the latest work of the arena. With [arena.WithRefusal], the call
// fails instead. While an eager call runs the function, launches of all other graphs of the arena
// wait on the host, even if their contexts end. The function must therefore neither launch nor wait
// for graphs of the arena, nor call Callables of the arena. Otherwise it may never return.
// New fails if the arena and the stream belong to different contexts, or if the stream is the
// per-thread stream.
func WithArena(a *arena.Arena) Option {
	return func(o *options) { o.arena, o.shares = a, true }
}

// WithInstantiation adds options for the instantiation of each graph.
func WithInstantiation(opts ...graph.Option) Option {
	return func(o *options) { o.instantiate = append(o.instantiate, opts...) }
}

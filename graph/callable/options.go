package callable

import "github.com/purecuda/cuda/graph"

// Option configures New.
type Option func(*options)

type options struct {
	mode        graph.Mode
	max         int
	adaptive    bool
	first       int // eager calls of a shape before it is recorded
	instantiate []graph.Option
}

const defaultVariants = 8

// WithVariants sets the number of shapes that keep their memory and graph. The default is 8.
func WithVariants(n int) Option {
	return func(o *options) { o.max = n }
}

// WithMode sets the mode in which the function is recorded. The default is ModeRelaxed.
func WithMode(m graph.Mode) Option {
	return func(o *options) { o.mode = m }
}

// WithAdaptive makes the Callable record a shape only if it repeats. The first n calls of each
// shape run eagerly: the function runs in each of them, and its operations are enqueued directly.
// The next call records the shape. A negative n is an error. With n = 0, the first call records.
//
// A shape returns to eager calls if recording it again costs more than it saves. Six calls in a row
// that update the graph reach that limit, as do two in a row whose update fails. Calls that only
// replay offset these costs. The shape is recorded again after 16 eager calls in a row with the
// same constants. Each later return to eager calls doubles that number, up to 4,096.
//
// Shapes whose function calls [Trace.Scope] are always recorded, as are the shapes of examples and
// of Prepare. On the per-thread stream, every shape is recorded.
func WithAdaptive(n int) Option {
	return func(o *options) { o.adaptive, o.first = true, n }
}

// WithInstantiation adds options for the instantiation of each graph.
func WithInstantiation(opts ...graph.Option) Option {
	return func(o *options) { o.instantiate = append(o.instantiate, opts...) }
}

package callable

import "github.com/purecuda/cuda/graph"

// Option changes how New makes a Callable.
type Option func(*options)

type options struct {
	mode        graph.Mode
	max         int
	instantiate []graph.Option
}

// defaultVariants is how many shapes are kept without an option.
const defaultVariants = 8

// WithVariants bounds the number of shapes for which memory and a graph are
// kept; it is 8 without this option.
func WithVariants(n int) Option {
	return func(o *options) { o.max = n }
}

// WithMode is the mode in which the function is recorded, ModeRelaxed
// without this option.
func WithMode(m graph.Mode) Option {
	return func(o *options) { o.mode = m }
}

// WithInstantiation adds options for the instantiation of each graph.
func WithInstantiation(opts ...graph.Option) Option {
	return func(o *options) { o.instantiate = append(o.instantiate, opts...) }
}

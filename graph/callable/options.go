package callable

import "github.com/purecuda/cuda/graph"

// Option configures New.
type Option func(*options)

type options struct {
	mode        graph.Mode
	max         int
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

// WithInstantiation adds options for the instantiation of each graph.
func WithInstantiation(opts ...graph.Option) Option {
	return func(o *options) { o.instantiate = append(o.instantiate, opts...) }
}

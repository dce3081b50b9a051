package graph

// CallableOption changes how NewCallable makes a Callable.
type CallableOption func(*callableOptions)

type callableOptions struct {
	mode        Mode
	max         int
	instantiate []Option
}

// defaultVariants is how many shapes are kept without an option.
const defaultVariants = 8

// CallableVariants bounds the number of shapes for which memory and a graph are
// kept; it is 8 without this option.
func CallableVariants(n int) CallableOption {
	return func(o *callableOptions) { o.max = n }
}

// CallableMode is the mode in which the function is recorded, ModeRelaxed
// without this option.
func CallableMode(m Mode) CallableOption {
	return func(o *callableOptions) { o.mode = m }
}

// CallableInstantiate adds options for the instantiation of each graph.
func CallableInstantiate(opts ...Option) CallableOption {
	return func(o *callableOptions) { o.instantiate = append(o.instantiate, opts...) }
}

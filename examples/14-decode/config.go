package main

import (
	"cmp"
	"errors"
	"fmt"
)

// config is the shape of a model of the Llama family, in float32.
type config struct {
	vocabulary int
	dim        int // length of the vector that passes through the layers
	layers     int
	heads      int     // number of query heads
	pairs      int     // number of key and value heads, each of which heads/pairs query heads share
	hidden     int     // length of the vectors inside a layer's MLP
	base       float64 // base of the frequencies of the position embedding
	epsilon    float64 // avoids a division by zero in the norms
}

// threads is the number of threads in a block of the kernel attend.
const threads = 256

// small is the default shape on the emulator, and launchBound is the default on a GPU. With
// launchBound, the kernels do so little work that launching them takes most of the time.
var (
	small       = config{vocabulary: 96, dim: 48, layers: 2, heads: 6, pairs: 2, hidden: 72, base: 10000, epsilon: 1e-5}
	launchBound = config{vocabulary: 1024, dim: 256, layers: 12, heads: 4, pairs: 2, hidden: 512, base: 10000, epsilon: 1e-5}
)

// head returns the number of elements of a head.
func (c config) head() int { return c.dim / c.heads }

// projected returns the total length of a token's queries, keys and values.
func (c config) projected() int { return (c.heads + 2*c.pairs) * c.head() }

// with returns a copy of c in which the nonzero fields of o replace those of c.
func (c config) with(o config) config {
	c.vocabulary, c.dim, c.layers = cmp.Or(o.vocabulary, c.vocabulary), cmp.Or(o.dim, c.dim), cmp.Or(o.layers, c.layers)
	c.heads, c.pairs, c.hidden = cmp.Or(o.heads, c.heads), cmp.Or(o.pairs, c.pairs), cmp.Or(o.hidden, c.hidden)
	c.base, c.epsilon = cmp.Or(o.base, c.base), cmp.Or(o.epsilon, c.epsilon)
	return c
}

// check returns an error if the kernels cannot compute a model of this shape.
func (c config) check() error {
	if min(c.vocabulary, c.dim, c.layers, c.heads, c.pairs, c.hidden) < 1 {
		return fmt.Errorf("a model needs at least one of everything: %v", c)
	}
	if c.dim%c.heads != 0 || c.heads%c.pairs != 0 {
		return fmt.Errorf("%d heads do not divide dim %d, or are not a multiple of the %d of keys", c.heads, c.dim, c.pairs)
	}
	if c.head()%4 != 0 || threads%c.head() != 0 {
		return fmt.Errorf("heads have %d elements; it must be a power of two from 4 to %d", c.head(), threads)
	}
	if !(c.base > 0) || !(c.epsilon >= 0) {
		return errors.New("the base of the positions and the epsilon of the norms must be positive")
	}
	return nil
}

func (c config) String() string {
	return fmt.Sprintf("%d layers, dim %d, %d heads (%d of keys and values), hidden %d, vocabulary %d",
		c.layers, c.dim, c.heads, c.pairs, c.hidden, c.vocabulary)
}

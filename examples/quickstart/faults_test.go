package main

import (
	"io"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/loader"
)

func TestFaults(t *testing.T) {
	o := options{config: config{dim: minDim, hidden: 2 * minDim, layers: 1, seed: 1}, steps: 1}
	demotest.FaultsOf(t, func(lib loader.Library, out io.Writer, closing func(...*driver.Context)) error {
		m, err := openEmulated(lib)
		if err != nil {
			return err
		}
		return pipeline(m, o, writes{out, func() { closing(m.context) }})
	})
}

// writes is a Writer that calls tell before each write. The program writes its report when only
// cleanup remains.
type writes struct {
	io.Writer
	tell func()
}

func (w writes) Write(p []byte) (int, error) {
	w.tell()
	return w.Writer.Write(p)
}

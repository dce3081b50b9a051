// Command quickstart runs a stack of transformer feed-forward blocks in float32. It runs the
// stack three ways: with stream launches, with a graph captured from the stream, and with
// the same graph built by hand. It updates both graphs, compares every result with a float64
// computation on the CPU, and prints the cost of each way. The kernels are embedded as PTX.
// Without a GPU, the program runs on the emulator and says so.
//
// The exit status is 1 if any comparison fails.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

type options struct {
	config
	device string
	steps  int
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "auto", "auto, gpu or emulator")
	flag.IntVar(&o.dim, "dim", 256, "length of the vector; a block's inner vectors are twice as long")
	flag.IntVar(&o.layers, "layers", 4, "number of blocks")
	flag.IntVar(&o.steps, "steps", 0, "steps run each way; 0: 200 on a GPU, 5 on the emulator")
	flag.Uint64Var(&o.seed, "seed", 1, "of weights and inputs")
	flag.Parse()
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// minDim is the smallest length for which the comparison is meaningful. With fewer elements, the
// terms of a sum can nearly cancel and leave mainly rounding errors.
const minDim = 16

// errComparison is the error of run if a result differs from the reference.
var errComparison = errors.New("results differ from the reference")

func run(o options, out io.Writer) error {
	if o.dim < minDim || o.layers < 1 || o.steps < 0 {
		return fmt.Errorf("-dim must be at least %d, -layers at least 1, -steps at least 0", minDim)
	}
	o.hidden = 2 * o.dim
	m, err := openMachine(o.device, out)
	if err != nil {
		return err
	}
	return pipeline(m, o, out)
}

// pipeline runs the stack of blocks, prints the report and closes the machine.
func pipeline(m *machine, o options, out io.Writer) (err error) {
	defer func() { err = errors.Join(err, m.Close()) }()
	if o.steps == 0 {
		o.steps = 200
		if m.emulated {
			o.steps = 5
		}
	}
	k, err := loadKernels(m.context)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	model := newModel(o.config)
	s, err := newStack(m.context, k, model, model.defaults())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	b := newBench(model, s, model.defaults(), o.steps)
	r, err := b.all(m)
	if err != nil {
		return err
	}
	return r.print(out)
}

package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

// example holds the kernels and three numbers in device memory.
type example struct {
	*demo.Demo
	odd           Odd
	step          Step
	countdown     Countdown
	x, steps, bit *driver.Buffer[uint32]
}

func prepare(d *demo.Demo) (*example, error) {
	odd, err1 := OddIn(d.Context)
	step, err2 := StepIn(d.Context)
	countdown, err3 := CountdownIn(d.Context)
	err := errors.Join(err1, err2, err3)
	if err != nil {
		return nil, err
	}
	e := &example{Demo: d, odd: odd, step: step, countdown: countdown}
	for _, b := range []**driver.Buffer[uint32]{&e.x, &e.steps, &e.bit} {
		if *b, err = demo.Memory[uint32](d, 1, 0); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *example) graph() (*graph.Graph, error) {
	g, err := graph.New(e.Context)
	if err == nil {
		e.Close(g)
	}
	return g, err
}

func (e *example) exec(g *graph.Graph) (*graph.Exec, error) {
	x, err := g.Instantiate()
	if err == nil {
		e.Close(x)
	}
	return x, err
}

// check compares the number of steps from start to 1 with a computation in Go.
func (e *example) check(start uint32) error {
	want := stepsTo1(start)
	if err := errors.Join(demo.All(e.x, 1), demo.All(e.steps, want)); err != nil {
		return err
	}
	e.Printf("from %d: %d steps, one launch", start, want)
	return nil
}

func stepsTo1(x uint32) uint32 {
	n := uint32(0)
	for ; x != 1; n++ {
		if x%2 == 1 {
			x = 3*x + 1
		} else {
			x /= 2
		}
	}
	return n
}

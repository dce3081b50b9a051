// Command 08-conditional runs graphs that decide on the device what they do: a
// loop with a branch in it (how many steps a number takes to 1 when odd ones
// become 3x+1 and even ones x/2), a choice of three, and a loop whose condition a
// kernel of the program's own sets. It needs CUDA 12.8.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

//go:embed kernels.ptx
var ptx []byte

var one = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

func main() { demo.Main("08-conditional", run) }

// example has the kernels and the words that they work on.
type example struct {
	*demo.Demo
	odd, step, countdown *driver.Kernel
	x, steps, bit        *driver.Buffer[uint32]
}

func run(d *demo.Demo) (err error) {
	e := &example{Demo: d}
	if err := d.Kernels(ptx, map[string]**driver.Kernel{"odd": &e.odd, "step": &e.step, "countdown": &e.countdown}); err != nil {
		return err
	}
	for _, b := range []**driver.Buffer[uint32]{&e.x, &e.steps, &e.bit} {
		if *b, err = demo.Memory[uint32](d, 1, 0); err != nil {
			return err
		}
	}
	return errors.Join(e.loop(), e.choice(), e.ownKernel())
}

// loop is WHILE x != 1 { IF x is odd { x = 3x+1 } ELSE { x = x/2 } }, captured.
func (e *example) loop() error {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		notOne, err := sc.NewCond()
		if err != nil {
			return err
		}
		test, err := notOne.SetWhen(graph.When(e.x, graph.NotEqual, 1))
		if err != nil {
			return err
		}
		if err := sc.Do(test); err != nil {
			return err
		}
		return sc.While(notOne, func(round *graph.Scope) error {
			if err := e.branch(round); err != nil {
				return err
			}
			return round.Do(test)
		})
	})
	if err != nil {
		return err
	}
	e.Close(g)
	exec, err := e.exec(g)
	if err != nil {
		return err
	}
	for _, start := range []uint32{1, 6, 27, 97} {
		// One after the other: without its start the loop would not end.
		for _, step := range []func() error{
			func() error { return e.x.Fill(start) },
			func() error { return e.steps.Fill(0) },
			func() error { return exec.Run(context.Background(), e.Stream) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		want := stepsTo1(start)
		if err := errors.Join(demo.All(e.x, 1), demo.All(e.steps, want)); err != nil {
			return fmt.Errorf("from %d: %w", start, err)
		}
		e.Printf("from %d: %d steps, one launch", start, want)
	}
	return nil
}

// branch is the IF-ELSE in the loop.
func (e *example) branch(sc *graph.Scope) error {
	isOdd, err := sc.NewCond()
	if err != nil {
		return err
	}
	look, err := e.odd.Prepare(one, e.bit, e.x)
	if err != nil {
		return err
	}
	set, err := isOdd.SetTo(e.bit)
	if err != nil {
		return err
	}
	triple, err := e.step.Prepare(one, e.x, e.steps, uint32(3), uint32(1), uint32(1))
	if err != nil {
		return err
	}
	halve, err := e.step.Prepare(one, e.x, e.steps, uint32(1), uint32(2), uint32(0))
	if err != nil {
		return err
	}
	if err := errors.Join(sc.Do(look), sc.Do(set)); err != nil {
		return err
	}
	return sc.IfElse(isOdd,
		func(then *graph.Scope) error { return then.Do(triple) },
		func(otherwise *graph.Scope) error { return otherwise.Do(halve) })
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

// choice is a SWITCH over bit[0], built by hand: each body gives x another value, and a number
// without a body leaves it.
func (e *example) choice() error {
	g, err := e.graph()
	if err != nil {
		return err
	}
	which, err := g.NewCond()
	if err != nil {
		return err
	}
	set, err := which.SetTo(e.bit)
	if err != nil {
		return err
	}
	before, err := g.Add(set)
	if err != nil {
		return err
	}
	_, bodies, err := g.AddSwitch(which, 3, before)
	if err != nil {
		return err
	}
	for i, body := range bodies {
		fill, err := driver.Fill[uint32](e.x, uint32(100*i+100))
		if err != nil {
			return err
		}
		if _, err := body.Add(fill); err != nil {
			return err
		}
	}
	exec, err := e.exec(g)
	if err != nil {
		return err
	}
	for bit, want := range []uint32{100, 200, 300, 7} {
		if err := errors.Join(e.bit.Fill(uint32(bit)), e.x.Fill(7), exec.Run(context.Background(), e.Stream), demo.All(e.x, want)); err != nil {
			return fmt.Errorf("choice %d: %w", bit, err)
		}
	}
	e.Printf("a choice of three: 100, 200, 300, and nothing for a fourth")
	return nil
}

// ownKernel is a loop whose kernel sets the condition itself: it is an argument
// like any other. With a default the first round needs nobody who sets it.
func (e *example) ownKernel() error {
	const rounds = 1000
	g, err := e.graph()
	if err != nil {
		return err
	}
	left, err := g.NewCond(graph.WithDefault(1))
	if err != nil {
		return err
	}
	_, body, err := g.AddWhile(left)
	if err != nil {
		return err
	}
	count, err := e.countdown.Prepare(one, e.x, left)
	if err != nil {
		return err
	}
	if _, err := body.Add(count); err != nil {
		return err
	}
	exec, err := e.exec(g)
	if err != nil {
		return err
	}
	if err := e.x.Fill(rounds); err != nil {
		return err
	}
	if err := errors.Join(exec.Run(context.Background(), e.Stream), demo.All(e.x, 0)); err != nil {
		return err
	}
	e.Printf("a kernel counted down from %d in one launch", rounds)
	return nil
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

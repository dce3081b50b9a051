// Command 08-conditional runs graphs that branch and loop on the device, without involving the
// host. Its main graph counts the steps from a number x to 1: an odd x becomes 3x+1, an even x
// becomes x/2. The other graphs, in built.go, choose one of three bodies and loop with a kernel
// that sets the condition. ELSE and SWITCH need CUDA 12.8.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

func main() { demo.Main("08-conditional", run) }

func run(d *demo.Demo) error {
	e, err := prepare(d)
	if err != nil {
		return err
	}
	return errors.Join(e.loop(), e.choice(), e.ownKernel())
}

// loop captures WHILE x != 1 { IF x is odd { x = 3x+1 } ELSE { x = x/2 } }.
func (e *example) loop() error {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		notOne, err := sc.NewCond() // the condition of the loop
		if err != nil {
			return err
		}
		test, err := notOne.SetWhen(graph.When(e.x, graph.NotEqual, 1))
		if err != nil {
			return err
		}
		if err := sc.Do(test); err != nil { // before the first iteration
			return err
		}
		return sc.While(notOne, func(round *graph.Scope) error {
			if err := e.branch(round); err != nil {
				return err
			}
			return round.Do(test) // before the next iteration
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
		// Stop at the first error: a loop that starts from 0 never ends.
		if err := e.x.Fill(start); err != nil {
			return err
		}
		if err := e.steps.Fill(0); err != nil {
			return err
		}
		if err := exec.Run(context.Background(), e.Stream); err != nil {
			return err
		}
		if err := e.check(start); err != nil {
			return fmt.Errorf("from %d: %w", start, err)
		}
	}
	return nil
}

// branch records the IF with its ELSE. A kernel sets bit to 1 if x is odd and to 0 otherwise. The
// condition is then set to bit.
func (e *example) branch(sc *graph.Scope) error {
	isOdd, err := sc.NewCond()
	if err != nil {
		return err
	}
	look, err := e.odd.Op(e.odd.Grid(1), e.bit, e.x)
	if err != nil {
		return err
	}
	set, err := isOdd.SetTo(e.bit)
	if err != nil {
		return err
	}
	// The kernel step computes x = x*factor/divisor + plus and increments the number of
	// steps.
	triple, err := e.step.Op(e.step.Grid(1), e.x, e.steps, 3, 1, 1)
	if err != nil {
		return err
	}
	halve, err := e.step.Op(e.step.Grid(1), e.x, e.steps, 1, 2, 0)
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

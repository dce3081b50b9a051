package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

// choice builds a SWITCH node by node. The value of bit selects the body to run, and each
// body sets x to a different value. If no body has that number, none runs.
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

// ownKernel builds a loop whose own kernel sets the condition, passed as an ordinary
// argument. The default value starts the first iteration.
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
	count, err := e.countdown.Op(e.countdown.Grid(1), e.x, left)
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

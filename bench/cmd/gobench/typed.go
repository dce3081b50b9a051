package main

import (
	"github.com/purecuda/cuda/bench/internal/typed"
	"github.com/purecuda/cuda/driver"
)

// typedSteps holds the kernel with changing parameters and its launcher from ptx2go.
type typedSteps struct {
	kernels *typed.Kernels
	cfg     driver.LaunchConfig
	args    *typed.StepArgs
	amount  uint32
}

func (b *bench) prepareTyped() (err error) {
	t := &b.typed
	if t.kernels, err = typed.LoadKernels(b.context); err != nil {
		return err
	}
	t.cfg = t.kernels.Step.Grid(1)
	t.args, err = t.kernels.Step.Prepare(t.cfg, b.counter, 0)
	return err
}

// launchStep passes all arguments in each launch.
func (b *bench) launchStep(n int) error {
	t := &b.typed
	for range n {
		t.amount++
		if err := t.kernels.Step.Do(b.stream, t.cfg, b.counter.All(), t.amount); err != nil {
			return err
		}
	}
	return nil
}

// launchStepArgs changes one argument of a prepared launch and launches it.
func (b *bench) launchStepArgs(n int) error {
	t := &b.typed
	for range n {
		t.amount++
		if err := t.args.N.Set(t.amount); err != nil {
			return err
		}
		if err := b.stream.Do(t.args.Launch); err != nil {
			return err
		}
	}
	return nil
}

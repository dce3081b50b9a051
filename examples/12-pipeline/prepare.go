package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

// example holds the data in page-locked memory, because copies to and from other host memory cannot
// overlap with kernels. It also holds two input and two output buffers, and a stream and two events
// for each stage of the pipeline.
type example struct {
	*demo.Demo
	chunks, chunk int // number of chunks, and number of elements in a chunk
	rounds        uint32

	data, result *driver.HostBuffer[uint32]
	in, out      [2]*driver.Buffer[uint32]

	upload, download []*driver.CopyOp // one operation for each chunk
	step             [2]*driver.Launch

	up, down                       *driver.Stream
	uploaded, computed, downloaded [2]*driver.Event
}

func prepare(d *demo.Demo) (*example, error) {
	e := &example{Demo: d, chunks: 16, chunk: 2 << 20, rounds: 1000}
	if d.Emulated {
		e.chunks, e.chunk, e.rounds = 6, 1000, 10
	}
	for _, step := range []func() error{e.memory, e.operations, e.order} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *example) memory() (err error) {
	for _, h := range []**driver.HostBuffer[uint32]{&e.data, &e.result} {
		if *h, err = driver.AllocHost[uint32](e.Context, e.chunks*e.chunk); err != nil {
			return err
		}
		e.Close(*h)
	}
	for i := range e.data.Slice() {
		e.data.Slice()[i] = uint32(i)
	}
	for _, b := range []**driver.Buffer[uint32]{&e.in[0], &e.in[1], &e.out[0], &e.out[1]} {
		if *b, err = demo.Memory[uint32](e.Demo, e.chunk, 0); err != nil {
			return err
		}
	}
	return nil
}

// operations creates the operations once, to be enqueued any number of times.
func (e *example) operations() error {
	step, err := StepIn(e.Context) // the kernel in kernels.go
	if err != nil {
		return err
	}
	for slot := range e.step {
		if e.step[slot], err = step.Op(step.Grid(e.chunk), e.out[slot], e.in[slot], e.rounds); err != nil {
			return err
		}
	}
	for i := range e.chunks {
		lo, hi := i*e.chunk, (i+1)*e.chunk
		up, err := driver.Upload[uint32](e.in[i%2], e.data.View(lo, hi))
		if err != nil {
			return err
		}
		down, err := driver.Download[uint32](e.result.View(lo, hi), e.out[i%2])
		if err != nil {
			return err
		}
		e.upload, e.download = append(e.upload, up), append(e.download, down)
	}
	return nil
}

func (e *example) order() (err error) {
	if e.up, err = e.NewStream(); err != nil {
		return err
	}
	if e.down, err = e.NewStream(); err != nil {
		return err
	}
	for _, events := range []*[2]*driver.Event{&e.uploaded, &e.computed, &e.downloaded} {
		for slot := range events {
			if events[slot], err = e.Context.NewEvent(); err != nil {
				return err
			}
			e.Close(events[slot])
		}
	}
	return nil
}

func (e *example) wait() error {
	var errs []error
	for _, s := range []*driver.Stream{e.up, e.Stream, e.down} {
		errs = append(errs, s.Wait(context.Background()))
	}
	return errors.Join(errs...)
}

// check compares the results with a computation in Go. Each round applies the same linear function,
// so all rounds together also apply a linear function, with different constants.
func (e *example) check() error {
	factor, sum := uint32(1), uint32(0)
	for range e.rounds {
		factor, sum = factor*multiplier, sum*multiplier+increment
	}
	for i, got := range e.result.Slice() {
		if want := uint32(i)*factor + sum; got != want {
			return fmt.Errorf("wrong result: element %d of %d is %d, it should be %d", i, e.result.Len(), got, want)
		}
	}
	return nil
}

// Command 12-pipeline sends data through a device in chunks: while a kernel works
// on one, the next is uploaded and the result of the one before is downloaded.
// Each has a stream, events keep them in step, and two buffers on each side of
// the kernel are used in turn.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

//go:embed kernels.ptx
var ptx []byte

func main() { demo.Main("12-pipeline", run) }

func run(d *demo.Demo) error {
	e, err := prepare(d)
	if err != nil {
		return err
	}
	d.Printf("%d chunks of %d KiB", e.chunks, e.chunk*4>>10)
	serial, err := e.timed("one after the other", e.serial)
	if err != nil {
		return err
	}
	pipelined, err := e.timed("pipelined", e.pipelined)
	if err != nil {
		return err
	}
	if d.Emulated {
		return nil
	}
	stages, longest, err := e.stages()
	if err != nil {
		return err
	}
	d.Printf("serial: %v; uploads alone %v, kernels alone %v, downloads alone %v", serial, stages[0], stages[1], stages[2])
	d.Printf("pipelined: %v, %.1f times as fast; the longest stage alone takes %v", pipelined, float64(serial)/float64(pipelined), longest)
	return nil
}

// timed runs the work twice, the first time to warm up, and checks the results
// of both.
func (e *example) timed(name string, work func() error) (took time.Duration, err error) {
	for range 2 {
		clear(e.result.Slice())
		begin := time.Now()
		// All streams are waited for on every path: work that is under way uses
		// the buffers.
		if err := errors.Join(work(), e.wait()); err != nil {
			return 0, err
		}
		took = time.Since(begin)
		if err := e.check(); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	e.Printf("%s: all %d results are right", name, e.result.Len())
	return took.Round(time.Microsecond), nil
}

// serial is the work in one stream: each step begins when the one before ended.
func (e *example) serial() error {
	for i := range e.chunks {
		for _, op := range []driver.Op{e.upload[i], e.step[i%2], e.download[i]} {
			if err := e.Stream.Do(op); err != nil {
				return err
			}
		}
	}
	return nil
}

// pipelined is the same work in three streams. An event is recorded behind each
// step, and the others wait for what they need: the kernel for its input and for
// a free buffer to write, the upload for a free buffer, the download for the
// result. The streams wait on the device; the host is through at once.
func (e *example) pipelined() error {
	for i := range e.chunks {
		slot := i % 2
		if err := e.stage(e.up, e.upload[i], e.uploaded[slot], e.computed[slot]); err != nil {
			return err
		}
		if err := e.stage(e.Stream, e.step[slot], e.computed[slot], e.uploaded[slot], e.downloaded[slot]); err != nil {
			return err
		}
		if err := e.stage(e.down, e.download[i], e.downloaded[slot], e.computed[slot]); err != nil {
			return err
		}
	}
	return nil
}

// stage sends an operation behind events, and records one behind it. An event
// that was never recorded holds nothing up.
func (e *example) stage(s *driver.Stream, op driver.Op, done *driver.Event, needs ...*driver.Event) error {
	for _, n := range needs {
		if err := s.WaitEvent(n); err != nil {
			return err
		}
	}
	if err := s.Do(op); err != nil {
		return err
	}
	return s.Record(done)
}

// stages is the time of each kind of step alone, and the longest of them, which
// no pipeline can be faster than.
func (e *example) stages() (alone [3]time.Duration, longest time.Duration, err error) {
	for k, op := range []func(i int) driver.Op{
		func(i int) driver.Op { return e.upload[i] },
		func(i int) driver.Op { return e.step[i%2] },
		func(i int) driver.Op { return e.download[i] },
	} {
		begin := time.Now()
		for i := range e.chunks {
			if err := e.Stream.Do(op(i)); err != nil {
				return alone, 0, errors.Join(err, e.wait())
			}
		}
		if err := e.wait(); err != nil {
			return alone, 0, err
		}
		alone[k] = time.Since(begin).Round(time.Microsecond)
		longest = max(longest, alone[k])
	}
	return alone, longest, nil
}

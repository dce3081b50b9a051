// Command 12-pipeline processes data in chunks. While a kernel works on one chunk, the next chunk
// is uploaded and the previous result is downloaded. Each of the three stages has its own stream,
// and events order the stages. The chunks alternate between two input buffers and between two
// output buffers.
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

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

// timed runs the work twice and checks both results. It returns the time of the second run, because
// the first run is slower.
func (e *example) timed(name string, work func() error) (took time.Duration, err error) {
	for range 2 {
		clear(e.result.Slice())
		begin := time.Now()
		// Wait for all streams even after an error: work in flight uses the buffers.
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

// serial does the work in one stream, without overlap.
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

// pipelined does the same work in three streams, with an event recorded after each step. The
// upload waits for a free input buffer. The kernel waits for its input and for a free output
// buffer. The download waits for the result. The streams wait on the device, so the host
// enqueues everything at once.
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

// stage makes the stream wait for the events in needs, enqueues op and records done. A wait
// for an event that was never recorded does nothing.
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

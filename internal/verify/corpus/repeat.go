package corpus

import (
	"context"

	"github.com/purecuda/cuda/driver"
)

// Repeat loads the PTX of a source as b made it and does all steps that are for
// b, as Run does. After each launch it calls again with what does the same
// launch n more times, on the same buffers as they are by then, and waits for
// them: to measure what a launch takes. The buffers' contents are those of the
// step before the first of the launches only if refill was called.
func (src *Source) Repeat(c *driver.Context, b Build, ptx string, again func(step string, refill func() error, launch func(n int) error) error) error {
	_, err := src.run(c, b, ptx, again)
	return err
}

// repeat hands a launch that was done once to again.
func (r *runner) repeat(name string, launch *driver.Launch, mem *memory) error {
	if r.again == nil {
		return nil
	}
	return r.again(name, mem.refill, func(n int) error {
		for range n {
			if err := r.stream.Do(launch); err != nil {
				return err
			}
		}
		return r.stream.Wait(context.Background())
	})
}

// refill gives all buffers the contents that they had before the launch.
func (m *memory) refill() error {
	for i, b := range m.buffers {
		if err := b.CopyFrom(m.of[i].bytes(m.seed)); err != nil {
			return err
		}
	}
	return nil
}

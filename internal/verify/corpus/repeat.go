package corpus

import (
	"context"

	"github.com/purecuda/cuda/driver"
)

// Repeat loads the PTX of a source in build b and runs all steps for b, as Run does. After each
// launch it calls the function again, for example to measure how long the launch takes. launch
// enqueues the same launch n more times, with the current contents of the buffers, and waits.
// refill restores the contents from before the first launch.
func (src *Source) Repeat(c *driver.Context, b Build, ptx string, again func(step string, refill func() error, launch func(n int) error) error) error {
	_, err := src.run(c, b, ptx, again)
	return err
}

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

// refill restores the contents that the buffers had before the first launch.
func (m *memory) refill() error {
	for i, b := range m.buffers {
		if err := b.CopyFrom(m.of[i].bytes(m.seed)); err != nil {
			return err
		}
	}
	return nil
}

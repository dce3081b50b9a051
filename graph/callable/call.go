package callable

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

func (c *Callable[In, Out]) run(ctx context.Context, in In) (*variant[In, Out], error) {
	v, err := c.send(ctx, in, false)
	if err != nil {
		return nil, err
	}
	if err := v.exec.Wait(ctx); err != nil {
		return nil, err
	}
	v.host = hostFree
	v.taken = v.launched
	return v, nil
}

// send enqueues a call. If withEvent is set, it records an event that completes when the input's
// page-locked memory may be written again.
func (c *Callable[In, Out]) send(ctx context.Context, in In, withEvent bool) (*variant[In, Out], error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	v, err := c.variant(in)
	if err != nil {
		return nil, err
	}
	if err := v.stage(ctx, c.s, in, withEvent); err != nil {
		return nil, err
	}
	if err := v.exec.Launch(c.s); err != nil {
		v.host = hostBehindStream
		return nil, err
	}
	v.launched++
	c.stats.Calls++
	return v, nil
}

// ready returns an error if no call is possible now. If other code is capturing the stream, the
// capture would record the call although its input changes later.
func (c *Callable[In, Out]) ready() error {
	if c.closed {
		return driver.ErrClosed
	}
	status, _, _, err := c.s.CaptureStatus()
	if err != nil {
		return err
	}
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		return refusal.New(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"%v is being captured; a call copies its input from memory that the next call changes, so a capture cannot record it", c.s)
	}
	return nil
}

// variant finds the variant for an input and updates its constants, or creates a new variant.
func (c *Callable[In, Out]) variant(in In) (*variant[In, Out], error) {
	for i, v := range c.variants {
		if v.fits(in) {
			copy(c.variants[1:i+1], c.variants[:i])
			c.variants[0] = v
			return v, c.refresh(v, in)
		}
	}
	v, err := c.newVariant(in)
	if err != nil {
		return nil, err
	}
	c.variants = append(c.variants, nil)
	copy(c.variants[1:], c.variants)
	c.variants[0] = v
	return v, c.evict()
}

// evict closes the least recently called variant if there are too many.
func (c *Callable[In, Out]) evict() error {
	if len(c.variants) <= c.o.max {
		return nil
	}
	last := len(c.variants) - 1
	v := c.variants[last]
	c.variants[last] = nil
	c.variants = c.variants[:last]
	c.stats.Evicted++
	if err := v.close(c.s); err != nil {
		return fmt.Errorf("the least recently called variant: %w", err)
	}
	return nil
}

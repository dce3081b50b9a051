package callable

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

func (c *Callable[In, Out]) run(ctx context.Context, in In) (*variant[In, Out], error) {
	faults := c.s.Lifetime().Faults()
	before := faults.Now()
	v, err := c.send(ctx, in, false)
	if err != nil {
		return nil, err
	}
	if v.wasEager {
		err = c.s.Wait(ctx)
	} else {
		err = v.exec.Wait(ctx) // this also waits for earlier work in the stream
	}
	if err == nil { // another wait for the stream may already have returned this call's fault
		err = faults.After(before, nil)
	}
	if err == nil || refusal.IsKernelFault(err) {
		v.host = hostFree
		v.ready()
	}
	return v, err
}

// send enqueues a call. If withEvent is set, it records an event that completes when the input's
// page-locked memory may be written again.
func (c *Callable[In, Out]) send(ctx context.Context, in In, withEvent bool) (*variant[In, Out], error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	v := c.find(in)
	if err := c.evict(v); err != nil {
		return nil, err
	}
	isEager, err := c.choose(v, in)
	if err != nil {
		return nil, err
	}
	if isEager {
		return c.sendEager(ctx, v, in, withEvent)
	}
	if v, err = c.variant(v, in); err != nil {
		return nil, err
	}
	v.wasEager = false // until send succeeds, close must wait for the inputs
	v.latest = c.work.calls()
	if err := v.replay(ctx, c.s, in, withEvent); err != nil {
		return nil, err
	}
	v.replays++
	v.launched++
	c.stats.Calls.Add(1)
	c.stats.Replayed.Add(1)
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

// find returns the variant for an input, or nil.
func (c *Callable[In, Out]) find(in In) *variant[In, Out] {
	for i, v := range c.variants {
		if v.fits(in) {
			copy(c.variants[1:i+1], c.variants[:i])
			c.variants[0] = v
			return v
		}
	}
	return nil
}

// variant returns v with its graph updated for an input or, if v is nil, a new variant.
func (c *Callable[In, Out]) variant(v *variant[In, Out], in In) (*variant[In, Out], error) {
	if v != nil {
		return v, c.refresh(v, in)
	}
	v, err := c.newVariant(func(v *variant[In, Out]) error { return c.instantiate(v, in) })
	if err != nil {
		c.stats.Failed.Add(1)
		return nil, err
	}
	return v, c.add(v)
}

// add adds a variant as the most recently called one.
func (c *Callable[In, Out]) add(v *variant[In, Out]) error {
	c.variants = append(c.variants, nil)
	copy(c.variants[1:], c.variants)
	c.variants[0] = v
	v.bytes = bytesOf(v.cells)
	c.stats.Variants.Store(int64(len(c.variants)))
	c.stats.MemoryBytes.Add(v.bytes)
	return c.evict(v)
}

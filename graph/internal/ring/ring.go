// Package ring keeps values in page-locked memory until their copies to the device have ended.
package ring

import (
	"context"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Ring stores values in page-locked memory until the device has read them. Each slot has an event
// that completes when the device has read its value.
type Ring[T any] struct {
	mu     sync.Mutex
	block  *driver.HostBuffer[T]
	slots  []slot[T]
	next   int // the least recently used slot
	closed bool
}

type slot[T any] struct {
	value *T
	copy  *driver.CopyOp
	read  *driver.Event
}

// Slots is the number of values that can be in flight at once.
const Slots = 64

// New returns a ring whose Send copies values to the given buffer.
func New[T any](c *driver.Context, to *driver.Buffer[T]) (*Ring[T], error) {
	block, err := driver.AllocHost[T](c, Slots)
	if err != nil {
		return nil, err
	}
	r := &Ring[T]{block: block}
	for i := range Slots {
		if err := r.add(c, to, i); err != nil {
			return nil, refusal.Join([]error{err, r.Close()})
		}
	}
	return r, nil
}

func (r *Ring[T]) add(c *driver.Context, to *driver.Buffer[T], i int) error {
	up, err := driver.Upload(to, r.block.View(i, i+1))
	if err != nil {
		return err
	}
	read, err := c.NewEvent()
	if err != nil {
		return err
	}
	r.slots = append(r.slots, slot[T]{&r.block.Slice()[i], up, read})
	return nil
}

// Send copies v to the device, in the order of the given stream. If all slots are in flight, it
// waits for the oldest.
func (r *Ring[T]) Send(on *driver.Stream, v T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return driver.ErrClosed
	}
	b := &r.slots[r.next]
	if free, err := b.read.Query(); refusal.IgnoreFault(err) != nil {
		return err
	} else if !free {
		if err := refusal.IgnoreFault(b.read.Wait(context.Background())); err != nil {
			return err
		}
	}
	*b.value = v
	if err := on.Do(b.copy); err != nil {
		return err
	}
	r.next = (r.next + 1) % len(r.slots)
	if err := on.Record(b.read); err != nil {
		// Without the event, only the end of all work in the stream proves that the slot is free.
		return refusal.Join([]error{err, on.Wait(context.Background())})
	}
	return nil
}

// Close waits until the device has read the values in flight.
func (r *Ring[T]) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for _, b := range r.slots {
		errs = append(errs, refusal.IgnoreFault(b.read.Wait(context.Background())), b.read.Close())
	}
	return refusal.Join(append(errs, r.block.Close()))
}

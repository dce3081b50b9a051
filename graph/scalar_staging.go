package graph

import (
	"context"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// staging is page-locked memory that values wait in until the device has read
// them: a ring of berths, each with an event that happens when its value was
// read.
type staging[T any] struct {
	mu     sync.Mutex
	block  *driver.HostBuffer[T]
	berths []berth[T]
	next   int // the one that has been unused for the longest time
	closed bool
}

// berth is room for one value on its way.
type berth[T any] struct {
	value *T
	copy  *driver.CopyOp
	read  *driver.Event
}

// berths is how many values can be on their way at a time.
const berths = 64

func newStaging[T any](c *driver.Context, to *driver.Buffer[T]) (*staging[T], error) {
	block, err := driver.AllocHost[T](c, berths)
	if err != nil {
		return nil, err
	}
	r := &staging[T]{block: block}
	for i := range berths {
		if err := r.add(c, to, i); err != nil {
			return nil, refusal.Join([]error{err, r.close()})
		}
	}
	return r, nil
}

func (r *staging[T]) add(c *driver.Context, to *driver.Buffer[T], i int) error {
	up, err := driver.Upload(to, r.block.View(i, i+1))
	if err != nil {
		return err
	}
	read, err := c.NewEvent()
	if err != nil {
		return err
	}
	r.berths = append(r.berths, berth[T]{&r.block.Slice()[i], up, read})
	return nil
}

// send copies v to the device in the order of on.
func (r *staging[T]) send(on *driver.Stream, v T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return driver.ErrClosed
	}
	b := &r.berths[r.next]
	if free, err := b.read.Query(); err != nil {
		return err
	} else if !free {
		if err := b.read.Wait(context.Background()); err != nil {
			return err
		}
	}
	*b.value = v
	if err := on.Do(b.copy); err != nil {
		return err
	}
	r.next = (r.next + 1) % len(r.berths)
	if err := on.Record(b.read); err != nil {
		// Nothing else tells when the berth is free again.
		return refusal.Join([]error{err, on.Wait(context.Background())})
	}
	return nil
}

// close waits until the device has read what is on its way.
func (r *staging[T]) close() error {
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
	for _, b := range r.berths {
		errs = append(errs, b.read.Wait(context.Background()), b.read.Close())
	}
	return refusal.Join(append(errs, r.block.Close()))
}

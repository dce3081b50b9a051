package main

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/cache"
)

// waits holds the objects of the rows that wait for the device or query it, and of the rows
// that allocate memory or load modules.
type waits struct {
	cancellable context.Context // like the context of an HTTP request
	launch      *driver.Launch
	nanoseconds driver.Arg[uint64]
	stream      *driver.Stream
	event       *driver.Event
	streams     [child.CrowdSize]*driver.Stream
	launches    [child.CrowdSize]*driver.Launch
	takes       [child.CrowdSize]driver.Arg[uint64]
	crowd       child.Crowd
	cache       *cache.Cache
	kept        driver.Buffer[byte]
	text        []byte
	names       []string
}

// allocBytes is the number of bytes of each allocation.
const allocBytes = 1 << 16

func (b *bench) prepareWaits(module *driver.Module) (err error) {
	w := &b.waits
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel // the context is cancelled when the process ends
	w.cancellable = ctx
	spin, err := module.Kernel("spin")
	if err != nil {
		return err
	}
	if w.stream, w.launch, w.nanoseconds, err = b.waiter(spin); err != nil {
		return err
	}
	for i := range w.streams {
		if w.streams[i], w.launches[i], w.takes[i], err = b.waiter(spin); err != nil {
			return err
		}
	}
	if w.event, err = b.context.NewEvent(); err != nil {
		return err
	}
	pool, err := b.context.CurrentPool()
	if err != nil {
		return err
	}
	w.cache, err = cache.New(b.context)
	w.text, w.names = child.ManyPTX(), child.ManyNames()
	return errors.Join(err, w.stream.Record(w.event), pool.SetReleaseThreshold(64<<20))
}

// waiter returns a stream and the launch of a kernel that runs for a given time.
func (b *bench) waiter(spin *driver.Kernel) (s *driver.Stream, l *driver.Launch, ns driver.Arg[uint64], err error) {
	if s, err = b.context.NewStream(); err != nil {
		return
	}
	if l, err = spin.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, uint64(0)); err != nil {
		return
	}
	ns, err = driver.ArgOf[uint64](l, 0)
	return
}

func (b *bench) waitRows(rows map[string]child.Row) {
	w := &b.waits
	settle := func() error { return w.stream.Wait(context.Background()) }
	take := func(us uint64) func() error {
		return func() error {
			for i := range w.takes {
				if err := w.takes[i].Set(us * 1000); err != nil {
					return err
				}
			}
			return w.nanoseconds.Set(us * 1000)
		}
	}
	rows["wait_100us"] = child.Row{Before: take(100), Run: b.wait(w.cancellable)}
	rows["wait_1ms"] = child.Row{Before: take(1000), Run: b.wait(w.cancellable)}
	rows["wait_100us_background"] = child.Row{Before: take(100), Run: b.wait(context.Background())}
	rows["wait_crowd"] = child.Row{Before: take(10), Run: b.waitCrowd}
	rows["wait_crowd_100us"] = child.Row{Before: take(100), Run: b.waitCrowd}
	rows["event_query"] = child.Row{Before: settle, Run: b.queryEvent}
	rows["stream_query"] = child.Row{Before: settle, Run: b.queryStream}
	rows["alloc_async"] = child.Row{Before: settle, Run: b.allocate, After: settle}
	rows["alloc_async_slot"] = child.Row{Before: settle, Run: b.allocateInto, After: settle}
	rows["cache_hit"] = child.Row{Before: settle, Run: b.allocateCached, After: settle}
	rows["cache_hit_slot"] = child.Row{Before: settle, Run: b.allocateKept, After: settle}
	rows["module_100"] = child.Row{Run: b.load}
}

func (b *bench) wait(ctx context.Context) func(int) error {
	return func(n int) error {
		w := &b.waits
		for range n {
			if err := launchAndWait(ctx, w.stream, w.launch); err != nil {
				return err
			}
		}
		return nil
	}
}

func launchAndWait(ctx context.Context, s *driver.Stream, l *driver.Launch) error {
	if err := s.Do(l); err != nil {
		return err
	}
	return s.Wait(ctx)
}

// waitCrowd launches and waits on as many goroutines as a service has workers.
func (b *bench) waitCrowd(n int) error {
	w := &b.waits
	return w.crowd.Run(n, func(member, n int) error {
		for range n {
			if err := launchAndWait(w.cancellable, w.streams[member], w.launches[member]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) queryEvent(n int) error {
	for range n {
		if done, err := b.waits.event.Query(); err != nil || !done {
			return errors.Join(errors.New("the event did not happen"), err)
		}
	}
	return nil
}

func (b *bench) queryStream(n int) error {
	for range n {
		if done, err := b.waits.stream.Query(); err != nil || !done {
			return errors.Join(errors.New("the stream is busy"), err)
		}
	}
	return nil
}

func (b *bench) allocate(n int) error {
	for range n {
		m, err := driver.AllocAsync[byte](b.waits.stream, allocBytes)
		if err != nil {
			return err
		}
		if err := m.Close(); err != nil {
			return err
		}
	}
	return nil
}

// allocateInto is like allocate, but reuses the Buffer.
func (b *bench) allocateInto(n int) error {
	w := &b.waits
	for range n {
		if err := driver.AllocAsyncInto(w.stream, &w.kept, allocBytes); err != nil {
			return err
		}
		if err := w.kept.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) allocateCached(n int) error {
	for range n {
		m, err := cache.Alloc[byte](b.waits.cache, b.waits.stream, allocBytes)
		if err != nil {
			return err
		}
		if err := m.Close(); err != nil {
			return err
		}
	}
	return nil
}

// allocateKept is like allocateCached, but reuses the Buffer.
func (b *bench) allocateKept(n int) error {
	w := &b.waits
	for range n {
		if err := cache.AllocInto(w.cache, w.stream, &w.kept, allocBytes); err != nil {
			return err
		}
		if err := w.kept.Close(); err != nil {
			return err
		}
	}
	return nil
}

// load loads a module of many kernels and looks all of them up.
func (b *bench) load(n int) error {
	w := &b.waits
	for range n {
		m, err := b.context.LoadModule(w.text)
		if err != nil {
			return err
		}
		for _, name := range w.names {
			if _, err := m.Kernel(name); err != nil {
				return err
			}
		}
		if err := m.Close(); err != nil {
			return err
		}
	}
	return nil
}

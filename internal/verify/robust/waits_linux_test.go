package robust

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// A thousand goroutines that wait for the device must not occupy one thread each.
func TestThousandWaitsTakeFewThreads(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		const n = 1000
		s, err := c.NewStream()
		ok(t, err)
		defer closes(t, s)
		gate := make(chan struct{})
		cancellable, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := make([]*driver.Event, n)
		ok(t, s.HostFunc(func() { <-gate }))
		for i := range events {
			e, err := c.NewEvent()
			ok(t, err)
			events[i] = e
			defer closes(t, events[i])
			ok(t, s.Record(events[i]))
		}
		before := len(tasks(t))
		var wg sync.WaitGroup
		var begun, ended atomic.Int32
		for i, e := range events {
			wg.Go(func() {
				begun.Add(1)
				var err error
				switch i % 3 {
				case 0:
					err = e.Wait(context.Background())
				case 1:
					err = e.Wait(cancellable)
				default:
					err = s.Wait(cancellable)
				}
				ended.Add(1)
				if err != nil {
					t.Error(err)
				}
			})
		}
		for begun.Load() < n {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // gives all waits time to begin
		now := len(tasks(t))
		if ended.Load() != 0 {
			t.Error("a wait ended before the work")
		}
		close(gate)
		wg.Wait()
		if most := before + 4*runtime.GOMAXPROCS(0) + 24; now > most {
			t.Errorf("%d threads before, %d while a thousand goroutines wait", before, now)
		}
		t.Logf("%d threads before, %d while a thousand goroutines wait", before, now)
	})
}

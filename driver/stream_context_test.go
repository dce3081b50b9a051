package driver_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// A stream's own context is the one its work runs in, whatever the thread has.
// From driver.selfBound on these calls are not bound, which is right only if
// the driver sees it so.
func TestStreamsNameTheirContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		other := must(c.Device().NewContext(0))(t)
		defer other.Close()
		streamWorkUnder(t, c, other)
	})
}

func TestStreamsNameTheirDevice(t *testing.T) {
	eachPair(t, streamWorkUnder)
}

// streamWorkUnder does work of c while the thread has no context, and other.
func streamWorkUnder(t *testing.T, c, other *driver.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := c.Device().Driver()
	defer func() { noError(t, d.CuCtxSetCurrent(0)) }()
	s := must(c.NewStream())(t)
	defer s.Close()
	e := must(c.NewEvent())(t)
	defer e.Close()
	host := must(driver.AllocHostFrom(c, []uint32{7, 8, 9}))(t)
	defer host.Close()
	back := must(driver.AllocHost[uint32](c, 3))(t)
	defer back.Close()
	a := must(driver.Alloc[uint32](c, 3))(t)
	defer a.Close()
	b := must(driver.Alloc[uint32](c, 3))(t)
	defer b.Close()
	up := must(driver.Upload(a, host))(t)
	across := must(driver.CopyDevice(b, a))(t)
	fill := must(driver.Fill(b.View(0, 1), uint32(5)))(t)
	down := must(driver.Download(back, b))(t)

	for _, current := range []driver.CUcontext{0, other.Raw()} {
		noError(t, b.Fill(0))
		noError(t, d.CuCtxSetCurrent(current))
		noError(t, s.Record(e))
		noError(t, s.WaitEvent(e))
		for _, op := range []driver.Op{up, across, fill, down} {
			noError(t, s.Do(op))
		}
		memoryUnder(t, s, e)
		var is driver.CUcontext
		noError(t, d.CuCtxGetCurrent(&is))
		if is != current {
			t.Errorf("context %#x is current, before it was %#x", is, current)
		}
		noError(t, s.Wait(t.Context()))
		if got := [3]uint32(back.Slice()); got != [3]uint32{5, 8, 9} {
			t.Errorf("with context %#x current: %v, want [5 8 9]", current, got)
		}
	}
}

// memoryUnder makes the calls on stream-ordered memory, and the queries.
func memoryUnder(t *testing.T, s *driver.Stream, e *driver.Event) {
	if devicePools := must(s.Context().Device().Properties())(t).MemoryPools; devicePools {
		for _, free := range []func(*driver.Buffer[uint32]) error{
			(*driver.Buffer[uint32]).Close,
			func(b *driver.Buffer[uint32]) error { return b.FreeAsync(s) },
		} {
			b := must(driver.AllocAsync[uint32](s, 3))(t)
			noError(t, s.Do(must(driver.Fill(b, 5))(t)))
			noError(t, free(b))
		}
	}
	noError(t, s.Record(e))
	for _, query := range []func() (bool, error){s.Query, e.Query, s.Recording} {
		_, err := query()
		noError(t, err)
	}
}

// A GLOBAL capture of one thread survives that others ask streams whether they are
// capturing, and wait and allocate as this package does.
func TestQueriesOfCapturesDisturbNone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other, e := must(c.NewStream())(t), must(c.NewStream())(t), must(c.NewEvent())(t)
		defer closeAll(t, s, other, e)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d := c.Driver()
		noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_GLOBAL))
		errs := make(chan error)
		go func() {
			capturing, err := other.Recording()
			if capturing {
				err = errors.Join(err, errors.New("a stream that is not capturing says it is"))
			}
			graph, _, captured := other.CaptureGraph()
			if graph != 0 {
				err = errors.Join(err, errors.New("it has a graph"))
			}
			_, queried := e.Query()
			errs <- errors.Join(err, captured, queried, other.Record(e), e.Wait(t.Context()), other.Wait(t.Context()))
		}()
		noError(t, <-errs)
		var g driver.CUgraph
		noError(t, d.CuStreamEndCapture(s.Raw(), &g))
		noError(t, d.CuGraphDestroy(g))
	})
}

package driver_test

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
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
		noError(t, s.Wait(t.Context()))
		if got := [3]uint32(back.Slice()); got != [3]uint32{5, 8, 9} {
			t.Errorf("with context %#x current: %v, want [5 8 9]", current, got)
		}
	}
}

package graph_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// nullCapture is a null driver that also has host memory and ends captures.
type nullCapture struct {
	null
	host [][]byte
}

func (d *nullCapture) Lookup(symbol string) (loader.Proc, error) {
	switch symbol {
	case "cuMemHostAlloc":
		return loader.FuncProc(func(a loader.Args) uintptr {
			m := make([]byte, a.Word(1))
			d.host = append(d.host, m)
			*(*unsafe.Pointer)(a.Ptr(0)) = unsafe.Pointer(&m[0])
			return 0
		}), nil
	case "cuStreamEndCapture":
		return loader.FuncProc(func(a loader.Args) uintptr {
			*(*uintptr)(a.Ptr(1)) = 7
			return 0
		}), nil
	}
	return d.null.Lookup(symbol)
}

func TestCallsAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { steadyCalls(newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))) })
	t.Run("gpu", func(t *testing.T) { steadyCalls(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyCalls(k *kit) {
	k.Helper()
	long, short := affine{ramp(elems, 0), 1, 1}, affine{ramp(8, 0), 1, 1}
	c := callable(k, k.affine, []affine{long, short})
	none := k.none
	none("Call", func() {
		_, err := c.Call(background, long)
		k.ok(err)
	})
	none("Call of one shape after another", func() {
		_, err := c.Call(background, long)
		k.ok(err)
		_, err = c.Call(background, short)
		k.ok(err)
	})
	none("Start and Wait", func() {
		p, err := c.Start(background, long)
		k.ok(err)
		_, err = p.Wait(background)
		k.ok(err)
	})
	k.wait(k.s)
	k.stats(c.Stats(), graph.CallableStats{Calls: 201 * 4, Recorded: 2, Instantiated: 2, Variants: 2})
}

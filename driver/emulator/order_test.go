package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// What puts a launch in one stream before one in another, and what does not.
var orders = []struct {
	name    string
	ordered bool
	between func(r *rig, a, b driver.CUstream)
}{
	{"nothing", false, func(r *rig, a, b driver.CUstream) {}},
	{"the stream itself", true, nil},
	{"an event", true, func(r *rig, a, b driver.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.ok(r.CuStreamWaitEvent(b, ev, 0))
	}},
	{"an event recorded elsewhere", false, func(r *rig, a, b driver.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, r.stream()))
		r.ok(r.CuStreamWaitEvent(b, ev, 0))
	}},
	{"events through a third stream", true, func(r *rig, a, b driver.CUstream) {
		c, x, y := r.stream(), r.event(0), r.event(0)
		r.ok(r.CuEventRecord(x, a))
		r.ok(r.CuStreamWaitEvent(c, x, 0))
		r.ok(r.CuEventRecord(y, c))
		r.ok(r.CuStreamWaitEvent(b, y, 0))
	}},
	{"a wait of the host for the stream", true, func(r *rig, a, b driver.CUstream) { r.ok(r.CuStreamSynchronize(a)) }},
	{"a wait of the host for the other stream", false, func(r *rig, a, b driver.CUstream) { r.ok(r.CuStreamSynchronize(b)) }},
	{"a wait of the host for an event", true, func(r *rig, a, b driver.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.ok(r.CuEventSynchronize(ev))
	}},
	{"a wait of the host for the context", true, func(r *rig, a, b driver.CUstream) { r.ok(r.CuCtxSynchronize()) }},
	{"a query that says that all is done", true, func(r *rig, a, b driver.CUstream) {
		for code(r.CuStreamQuery(a)) != 0 {
		}
	}},
	{"a flag in memory", true, func(r *rig, a, b driver.CUstream) {
		g := r.gate()
		r.ok(r.CuStreamWriteValue32(a, g.p, 1, 0))
		g.block(b)
	}},
	{"a synchronous copy", false, func(r *rig, a, b driver.CUstream) {
		var v uint32 // the legacy stream does not wait for these streams
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&v), r.unwritten(4), 4))
	}},
}

func TestRacesBetweenStreamsFollowWhatTheProgramOrders(t *testing.T) {
	followOrders(t, nil)
}

// The same while time is simulated: a dependency that costs no time is one.
func TestRacesBetweenStreamsAreFoundInSimulatedTime(t *testing.T) { followOrders(t, costs()) }

func followOrders(t *testing.T, m *emulator.CostModel) {
	for _, c := range orders {
		t.Run(c.name, func(t *testing.T) {
			r := checkedRigWith(t, emulator.Config{Check: emulator.CheckGlobalRaces, CostModel: m})
			p, a, b := r.alloc(256), r.stream(), r.stream()
			if c.between == nil {
				b = a
			}
			r.start("count", a, 1, 64, p, 0, true)
			if c.between != nil {
				c.between(r, a, b)
			}
			r.start("count", b, 1, 64, p, 0, true)
			r.settle()
			if found := r.emu.Findings(); (len(found) == 0) != c.ordered {
				t.Errorf("ordered %v: found %v", c.ordered, found)
			}
		})
	}
}

func TestBlockingStreamsAreOrderedByTheLegacyStream(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckGlobalRaces)
		p, a, b := r.alloc(256), r.streamWith(0), r.streamWith(0)
		r.start("count", a, 1, 64, p, 0, true)
		if ordered {
			r.start("count", 0, 1, 64, p, 0, true)
		}
		r.start("count", b, 1, 64, p, 0, true)
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != ordered {
			t.Errorf("with work of the legacy stream in between %v: found %v", ordered, found)
		}
	}
}

func TestGraphLaunchesAreOrderedLikeOtherWork(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckGlobalRaces)
		p, a, b := r.alloc(256), r.stream(), r.stream()
		g := r.graph()
		f := r.function(r.module(bugs), "count")
		first := r.addKernel(g, f, p, 0, 0)
		middle := r.addKernel(g, f, p+64, 0, 0, first)
		r.addKernel(g, f, p, 0, 0, middle) // after the first by way of another
		x := r.instantiate(g)
		for range 3 { // launches of one executable are in order in any stream
			r.ok(r.CuGraphLaunch(x, a))
			r.ok(r.CuGraphLaunch(x, b))
		}
		if ordered {
			r.settle()
		}
		r.start("count", a, 1, 64, p, 0, true)
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != ordered {
			t.Errorf("with a wait after the graph %v: found %v", ordered, found)
		}
	}
}

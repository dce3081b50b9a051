package emulator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func costs() *emulator.CostModel {
	return &emulator.CostModel{Submit: 1 * time.Microsecond, Kernel: 10 * time.Microsecond, GraphKernel: 4 * time.Microsecond,
		Graph: 5 * time.Microsecond, Copy: 2 * time.Microsecond, HostFunction: 30 * time.Microsecond, HostBandwidth: 1e9}
}

type stage struct {
	t      *testing.T
	c      *driver.Context
	s      *driver.Stream
	x      *driver.Buffer[uint32]
	m      *driver.Module
	launch *driver.Launch
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func closingOf[T interface{ Close() error }](t *testing.T, v T) T {
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// onStage runs test several times on emulators with simulated time. Results that depend on this
// machine's speed would vary.
func onStage(t *testing.T, m *emulator.CostModel, test func(st *stage)) {
	t.Helper()
	for range 10 {
		e := emulator.New(emulator.Config{CostModel: m})
		c := gputest.Context(t, gputest.Driver(t, e))
		st := &stage{t: t, c: c}
		st.m = closingOf(t, must(c.LoadModule([]byte(testPTX)))(t))
		st.s = closingOf(t, must(c.NewStream())(t))
		st.x = closingOf(t, must(driver.Alloc[uint32](c, 1<<20))(t))
		st.launch = st.kernel(1)
		test(st)
		if t.Failed() {
			return
		}
	}
}

func (st *stage) kernel(blocks int) *driver.Launch {
	k := must(st.m.Kernel("store"))(st.t)
	return must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(32)}, st.x, uint32(0), uint32(1)))(st.t)
}

func (st *stage) ok(err error) {
	st.t.Helper()
	if err != nil {
		st.t.Fatal(err)
	}
}

// timed returns the time between two events recorded before and after f submits its work.
func (st *stage) timed(f func()) time.Duration {
	st.t.Helper()
	a, b := closingOf(st.t, must(st.c.NewEvent(driver.WithTiming()))(st.t)), closingOf(st.t, must(st.c.NewEvent(driver.WithTiming()))(st.t))
	st.ok(st.s.Record(a))
	f()
	st.ok(st.s.Record(b))
	st.ok(b.Wait(context.Background()))
	return must(b.Elapsed(a))(st.t)
}

func (st *stage) want(what string, got, want time.Duration) {
	st.t.Helper()
	if diff := got - want; diff < -time.Nanosecond || diff > time.Nanosecond { // CUDA returns the time as a float32
		st.t.Errorf("%s took %v, want %v", what, got, want)
	}
}

func TestSimulatedTimeOfAStream(t *testing.T) {
	onStage(t, costs(), func(st *stage) {
		// The first event completes as soon as it is recorded, so the time includes one submission.
		st.want("a kernel", st.timed(func() { st.ok(st.s.Do(st.launch)) }), 11*time.Microsecond)
		st.want("three kernels", st.timed(func() {
			for range 3 {
				st.ok(st.s.Do(st.launch))
			}
		}), 31*time.Microsecond)
		st.want("nothing", st.timed(func() {}), time.Microsecond)
		st.want("a host function", st.timed(func() { st.ok(st.s.HostFunc(func() {})) }), 31*time.Microsecond)
		// The host function's own code must take no simulated time.
		st.want("a slow program", st.timed(func() {
			st.ok(st.s.Do(st.launch))
			time.Sleep(time.Millisecond)
			st.ok(st.s.Do(st.launch))
		}), 21*time.Microsecond)
	})
}

func TestSimulatedTimeOfCopies(t *testing.T) {
	onStage(t, costs(), func(st *stage) {
		pinned := closingOf(t, must(driver.AllocHost[uint32](st.c, 1000))(t))
		part := st.x.View(0, 1000)
		up := must(driver.Upload[uint32](part, pinned))(t)
		st.want("a copy of 4000 bytes", st.timed(func() { st.ok(st.s.Do(up)) }), 1*time.Microsecond+6*time.Microsecond)
	})
}

func TestSimulatedTimeOverlaps(t *testing.T) {
	onStage(t, costs(), func(st *stage) {
		other := closingOf(t, must(st.c.NewStream())(t))
		fork, join := closingOf(t, must(st.c.NewEvent())(t)), closingOf(t, must(st.c.NewEvent())(t))
		st.want("two kernels at the same time", st.timed(func() {
			st.ok(st.s.Record(fork)) // the host's time is 2 µs, and the event's time 1 µs
			st.ok(other.WaitEvent(fork))
			st.ok(st.s.Do(st.launch))  // from 3 to 13 µs
			st.ok(other.Do(st.launch)) // from 4 to 14 µs
			st.ok(other.Record(join))
			st.ok(st.s.WaitEvent(join))
		}), 13*time.Microsecond)
	})
}

func TestSimulatedTimeOfGraphs(t *testing.T) {
	onStage(t, costs(), func(st *stage) {
		chain := st.graph(func(g *graph.Graph) {
			var last []graph.Node
			for range 3 {
				last = []graph.Node{must(g.Add(st.launch, last...))(t)}
			}
		})
		fan := st.graph(func(g *graph.Graph) {
			for range 3 {
				must(g.Add(st.launch))(t)
			}
		})
		st.want("a graph of three kernels in a row", st.timed(func() { st.ok(chain.Launch(st.s)) }), (1+5+12)*time.Microsecond)
		st.want("a graph of three kernels side by side", st.timed(func() { st.ok(fan.Launch(st.s)) }), (1+5+4)*time.Microsecond)
	})
}

func (st *stage) graph(build func(g *graph.Graph)) *graph.Exec {
	g := closingOf(st.t, must(graph.New(st.c))(st.t))
	build(g)
	return closingOf(st.t, must(g.Instantiate())(st.t))
}

// Larger grids must take longer once all multiprocessors are in use.
func TestSimulatedTimeOfInstructions(t *testing.T) {
	m := costs()
	m.InstructionRate = 1e6
	var first time.Duration
	onStage(t, m, func(st *stage) {
		timed := func(blocks int) time.Duration {
			l := st.kernel(blocks)
			return st.timed(func() { st.ok(st.s.Do(l)) }) - 11*time.Microsecond
		}
		one, all, twice := timed(1), timed(132), timed(264)
		st.want("a block on each multiprocessor", all, one)
		if ratio := float64(twice) / float64(one); ratio < 1.99 || ratio > 2.01 || one <= 0 {
			t.Errorf("two blocks on each multiprocessor took %v, one %v", twice, one)
		}
		if first == 0 {
			first = one
		}
		st.want("the same kernel in another emulator", one, first)
	})
}

func TestHostClock(t *testing.T) {
	e := emulator.New(emulator.Config{CostModel: costs()})
	c := gputest.Context(t, gputest.Driver(t, e))
	x := closingOf(t, must(driver.Alloc[byte](c, 1000))(t))
	before := e.SimulatedTime()
	if err := x.CopyFrom(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if took := e.SimulatedTime() - before; took != 4*time.Microsecond {
		t.Errorf("a copy of 1000 bytes moved the host's clock by %v", took)
	}
}

func TestH200IsPlausible(t *testing.T) {
	onStage(t, emulator.H200(), func(st *stage) {
		got := st.timed(func() { st.ok(st.s.Do(st.launch)) })
		if got < time.Microsecond || got > 20*time.Microsecond {
			t.Errorf("a small kernel took %v", got)
		}
	})
}

func TestProfileCountsByKernel(t *testing.T) {
	e := emulator.New(emulator.Config{Profile: true})
	c := gputest.Context(t, gputest.Driver(t, e))
	m := closingOf(t, must(c.LoadModule([]byte(testPTX)))(t))
	x := closingOf(t, must(driver.Alloc[uint32](c, 64))(t))
	s := closingOf(t, must(c.NewStream())(t))
	for _, name := range []string{"store", "store", "add"} {
		k := must(m.Kernel(name))(t)
		l := must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(64)}, x, uint32(3), uint32(1)))(t)
		if err := s.Do(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, all := e.Profile("store"), e.Profile("")
	if store.Launches != 2 || all.Launches != 3 {
		t.Errorf("%d launches of store, %d of all", store.Launches, all.Launches)
	}
	// Both launches have four warps, and all lanes write the same word.
	if got, want := store.Opcodes["st.global.u32"], (emulator.OpcodeCount{Warps: 8, Lanes: 256}); got != want {
		t.Errorf("stores: %+v, want %+v", got, want)
	}
	if got, want := store.Global.Stores, (emulator.Traffic{Requests: 8, Bytes: 1024, Transactions: 8, Ideal: 8, Coalesced: 8}); got != want {
		t.Errorf("traffic of stores: %+v, want %+v", got, want)
	}
	if got := all.Global.Loads.Requests; got != 4 || store.Global.Loads.Requests != 0 {
		t.Errorf("%d loads in all, %d in store", got, store.Global.Loads.Requests)
	}
	if got := e.ProfiledKernels(); !slices.Equal(got, []string{"add", "store"}) {
		t.Errorf("kernels %v", got)
	}
	if all.LaneInstructions == 0 || all.WarpInstructions*32 != all.LaneInstructions {
		t.Errorf("%d instructions of warps, %d of lanes", all.WarpInstructions, all.LaneInstructions)
	}
}

func TestStatsTellCopiesByDirection(t *testing.T) {
	e := emulator.New(emulator.Config{})
	c := gputest.Context(t, gputest.Driver(t, e))
	x := closingOf(t, must(driver.Alloc[uint32](c, 64))(t))
	pinned := closingOf(t, must(driver.AllocHost[uint32](c, 16))(t))
	s := closingOf(t, must(c.NewStream())(t))
	host := make([]uint32, 64)
	for _, err := range []error{
		x.CopyFrom(host),
		s.Do(must(driver.Upload[uint32](x.View(0, 16), pinned))(t)),
		s.Do(must(driver.Download[uint32](pinned, x.View(16, 32)))(t)),
		s.Do(must(driver.CopyDevice[uint32](x.View(0, 8), x.View(8, 16)))(t)),
		s.Wait(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := e.Stats()
	want := emulator.Stats{HostToDevice: emulator.CopyCount{Copies: 2, Bytes: 320}, DeviceToHost: emulator.CopyCount{Copies: 1, Bytes: 64},
		DeviceToDevice: emulator.CopyCount{Copies: 1, Bytes: 32}, Copies: 4, BytesCopied: 416}
	want.Calls, want.HostCalls = got.Calls, got.HostCalls
	if got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

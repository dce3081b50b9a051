package emulator_test

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// orders lists operations with which a program may order a launch in one stream before a launch in
// another. Some of them do order the launches, and others do not.
var orders = []struct {
	name    string
	ordered bool
	between func(r *rig, a, b cu.CUstream)
}{
	{"nothing", false, func(r *rig, a, b cu.CUstream) {}},
	{"the stream itself", true, nil},
	{"an event", true, func(r *rig, a, b cu.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.ok(r.CuStreamWaitEvent(b, ev, 0))
	}},
	{"an event recorded elsewhere", false, func(r *rig, a, b cu.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, r.stream()))
		r.ok(r.CuStreamWaitEvent(b, ev, 0))
	}},
	{"events through a third stream", true, func(r *rig, a, b cu.CUstream) {
		c, x, y := r.stream(), r.event(0), r.event(0)
		r.ok(r.CuEventRecord(x, a))
		r.ok(r.CuStreamWaitEvent(c, x, 0))
		r.ok(r.CuEventRecord(y, c))
		r.ok(r.CuStreamWaitEvent(b, y, 0))
	}},
	{"a wait of the host for the stream", true, func(r *rig, a, b cu.CUstream) { r.ok(r.CuStreamSynchronize(a)) }},
	{"a wait of the host for the other stream", false, func(r *rig, a, b cu.CUstream) { r.ok(r.CuStreamSynchronize(b)) }},
	{"a wait of the host for an event", true, func(r *rig, a, b cu.CUstream) {
		ev := r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.ok(r.CuEventSynchronize(ev))
	}},
	{"a wait of the host for the context", true, func(r *rig, a, b cu.CUstream) { r.ok(r.CuCtxSynchronize()) }},
	{"a wait of the host for the context, which has the stream no more", true, func(r *rig, a, b cu.CUstream) {
		r.passed(a)
		r.ok(r.CuStreamDestroy(a))
		r.ok(r.CuCtxSynchronize())
	}},
	{"the stream's end", false, func(r *rig, a, b cu.CUstream) {
		r.passed(a)
		r.ok(r.CuStreamDestroy(a))
	}},
	{"ends of streams that were waited for", true, func(r *rig, a, b cu.CUstream) {
		r.ok(r.CuStreamSynchronize(a))
		r.ok(r.CuStreamDestroy(a))
		for range 3 { // so that the checks drop these streams
			var s cu.CUstream
			r.ok(r.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)))
			r.ok(r.CuStreamDestroy(s))
		}
	}},
	{"a query that says that all is done", true, func(r *rig, a, b cu.CUstream) {
		for code(r.CuStreamQuery(a)) != 0 {
		}
	}},
	{"a query of an idle stream that waits for an event that has passed", true, func(r *rig, a, b cu.CUstream) {
		c, ev := r.stream(), r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.passed(a)
		r.ok(r.CuStreamWaitEvent(c, ev, 0))
		for code(r.CuStreamQuery(c)) != 0 {
		}
	}},
	{"a wait of the host for a stream that waits for an event that has passed", true, func(r *rig, a, b cu.CUstream) {
		c, ev := r.stream(), r.event(0)
		r.ok(r.CuEventRecord(ev, a))
		r.passed(a)
		r.ok(r.CuStreamWaitEvent(c, ev, 0))
		r.ok(r.CuStreamSynchronize(c))
	}},
	{"a flag in memory", true, func(r *rig, a, b cu.CUstream) {
		g := r.gate()
		r.ok(r.CuStreamWriteValue32(a, g.p, 1, 0))
		g.block(b)
	}},
	{"a synchronous copy", false, func(r *rig, a, b cu.CUstream) {
		var v uint32 // the legacy stream does not wait for these streams
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&v), r.unwritten(4), 4))
	}},
}

func TestRacesBetweenStreamsFollowWhatTheProgramOrders(t *testing.T) {
	followOrders(t, nil)
}

// Races must also be found with simulated time. A dependency that takes no simulated time must
// still order work.
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
		r.addKernel(g, f, p, 0, 0, middle) // indirectly after the first node
		x := r.instantiate(g)
		for range 3 { // launches of one executable graph are ordered, even in different streams
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

// The check must not follow each path in a graph separately, because a graph with many forks and
// joins has too many paths.
func TestRacesInGraphsOfManyPathsAreFoundSoon(t *testing.T) {
	r := checkedRig(t, emulator.CheckGlobalRaces)
	p, g := r.alloc(256), r.graph()
	f := r.function(r.module(bugs), "count")
	r.addKernel(g, f, p, 0, 0) // no edge leads from this node
	end := r.addKernel(g, f, r.alloc(256), 0, 0)
	for range 40 {
		var left, right, join cu.CUgraphNode
		r.ok(r.CuGraphAddEmptyNode(&left, g, &end, 1))
		r.ok(r.CuGraphAddEmptyNode(&right, g, &end, 1))
		both := []cu.CUgraphNode{left, right}
		r.ok(r.CuGraphAddEmptyNode(&join, g, &both[0], 2))
		end = join
	}
	r.addKernel(g, f, p, 0, 0, end)
	r.ok(r.CuGraphLaunch(r.instantiate(g), 0))
	r.settle()
	if len(r.emu.Findings()) == 0 {
		t.Error("nothing was found")
	}
}

// If a stream learns of earlier work from a flag in memory, streams that wait for that stream must
// learn of it as well. This also applies to the tasks after the wait.
func TestWhatATaskLearnsIsPassedOn(t *testing.T) {
	r := checkedRig(t, emulator.CheckGlobalRaces)
	p, a, b, c := r.alloc(256), r.stream(), r.stream(), r.stream()
	hold, flag, ev := r.gate(), r.gate(), r.event(0)
	r.start("count", a, 1, 64, p, 0, true)
	hold.block(a)
	r.ok(r.CuStreamWriteValue32(a, flag.p, 1, 0))
	flag.block(c)
	r.ok(r.CuEventRecord(ev, c))
	r.ok(r.CuStreamWaitEvent(b, ev, 0))
	r.start("count", b, 1, 64, p, 0, true)
	hold.open()
	r.settle()
	for _, f := range r.emu.Findings() {
		t.Errorf("found %v", f)
	}
}

// A wait must not cover work that other threads submit during the wait.
func TestAWaitEndsWithWhatWasSubmittedBeforeIt(t *testing.T) {
	waits := map[string]func(r *rig, s cu.CUstream) error{
		"stream":  func(r *rig, s cu.CUstream) error { return r.CuStreamSynchronize(s) },
		"context": func(r *rig, s cu.CUstream) error { return r.CuCtxSynchronize() },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			r := checkedRig(t, emulator.CheckGlobalRaces)
			p, a, b := r.alloc(256), r.stream(), r.stream()
			hold := r.gate()
			goOn := map[cu.CUstream]chan bool{a: make(chan bool), b: make(chan bool)}
			submit := func(s cu.CUstream) { // submit enqueues a host function and then a kernel
				fn := loader.NewCallback(func(uintptr) { <-goOn[s] })
				r.ok(r.CuLaunchHostFunc(s, cu.CUhostFn(fn), nil))
				r.start("count", s, 1, 64, p, 0, true)
			}
			hold.block(a)
			calls := r.emu.Stats().Calls
			waited := make(chan bool)
			go func() {
				defer close(waited)
				r.elsewhere(func() {
					if err := wait(r, a); err != nil {
						t.Error(err)
					}
				})
			}()
			for r.emu.Stats().Calls < calls+2 { // two calls: one sets the context, and one waits
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond) // the call is counted before the wait begins
			submit(a)
			hold.open()
			select {
			case <-waited:
			case <-time.After(time.Minute):
				t.Fatal("the wait does not end")
			}
			submit(b)
			close(goOn[a])
			r.quietlyPassed(a) // the kernel in the stream must run first
			close(goOn[b])
			r.settle()
			if len(r.emu.Findings()) == 0 {
				t.Error("no race was found with work that was not waited for")
			}
		})
	}
}

// When a host function in a graph runs, the host knows that the preceding nodes have ended.
func TestAHostNodeTellsOfTheNodesBeforeIt(t *testing.T) {
	for _, before := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckGlobalRaces)
		p, a, b, g := r.alloc(256), r.stream(), r.stream(), r.graph()
		told, goOn, last := make(chan bool), make(chan bool), make(chan bool)
		fn := loader.NewCallback(func(uintptr) { close(told); <-goOn })
		f := r.function(r.module(bugs), "count")
		var deps []cu.CUgraphNode
		if before {
			deps = append(deps, r.addKernel(g, f, p, 0, 0))
		}
		var n cu.CUgraphNode
		r.ok(r.CuGraphAddHostNode(&n, g, first(deps), uintptr(len(deps)), &cu.CUDA_HOST_NODE_PARAMS{Fn: cu.CUhostFn(fn)}))
		if !before {
			r.addKernel(g, f, p, 0, 0, n)
		}
		r.ok(r.CuGraphLaunch(r.instantiate(g), a))
		<-told
		wait := loader.NewCallback(func(uintptr) { <-last })
		r.ok(r.CuLaunchHostFunc(b, cu.CUhostFn(wait), nil))
		r.start("count", b, 1, 64, p, 0, true)
		close(goOn)
		r.quietlyPassed(a) // the kernel in the graph must run first
		close(last)
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != before {
			t.Errorf("a kernel before the function %v: found %v", before, found)
		}
	}
}

func TestCopiesOfTheHostRaceWithWorkThatItDidNotWaitFor(t *testing.T) {
	for _, waited := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckGlobalRaces)
		p, s := r.alloc(256), r.stream()
		r.start("count", s, 1, 64, p, 0, true)
		if waited {
			r.ok(r.CuStreamSynchronize(s))
		}
		var v uint32
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&v), p, 4))
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != waited {
			t.Errorf("waited for %v: found %v", waited, found)
		}
	}
}

func (r *rig) device(h []byte) cu.CUdeviceptr {
	r.t.Helper()
	var p cu.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&p, unsafe.Pointer(&h[0]), 0))
	return p
}

// fetch enqueues a copy from device memory that fills h. store enqueues a copy in the other
// direction.
func (r *rig) fetch(h []byte, p cu.CUdeviceptr, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyDtoHAsync(unsafe.Pointer(&h[0]), p, uintptr(len(h)), s))
}

func (r *rig) store(p cu.CUdeviceptr, h []byte, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyHtoDAsync(p, unsafe.Pointer(&h[0]), uintptr(len(h)), s))
}

// fetchRows enqueues a copy of two 32-byte rows to bytes 64 to 95 and 192 to 223 of h.
func (r *rig) fetchRows(h []byte, p cu.CUdeviceptr, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpy2DAsync(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, SrcPitch: 32,
		DstMemoryType: cu.CU_MEMORYTYPE_HOST, DstHost: unsafe.Pointer(&h[0]), DstPitch: 128, DstXInBytes: 64,
		WidthInBytes: 32, Height: 2,
	}, s))
}

// quietlyPassed waits until the work in s has ended, without a wait that the checks can see. It
// polls an elapsed time, which does not order any work.
func (r *rig) quietlyPassed(s cu.CUstream) {
	r.t.Helper()
	ev, ms := r.event(0), float32(0)
	r.ok(r.CuEventRecord(ev, s))
	for code(r.CuEventElapsedTime(&ms, ev, ev)) == cu.CUDA_ERROR_NOT_READY {
		runtime.Gosched()
	}
}

func (r *rig) filled(bytes int) cu.CUdeviceptr {
	r.t.Helper()
	p := r.alloc(bytes)
	r.ok(r.CuMemsetD8(p, 1, uintptr(bytes)))
	return p
}

// deviceWrites lists writes by the device to page-locked memory before, during or after a copy.
var deviceWrites = []struct {
	name string
	run  func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr)
}{
	{"a copy from memory that a copy before it fills", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		r.store(r.unwritten(256), h, s)
	}},
	{"a copy from memory that a kernel before it fills", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.start("count", s, 1, 64, r.device(h), 0, true)
		r.store(p, h, s)
	}},
	{"a copy from memory that a graph before it fills", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		g := r.graph()
		r.addKernel(g, r.function(r.module(bugs), "count"), r.device(h), 0, 0)
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
		r.store(p, h, s)
	}},
	{"a copy from memory that a function of the host before it fills", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		fn := loader.NewCallback(func(uintptr) { h[7]++ })
		r.ok(r.CuLaunchHostFunc(s, cu.CUhostFn(fn), nil))
		r.store(p, h, s)
	}},
	{"a memset of what was copied to", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		r.ok(r.CuMemsetD8Async(r.device(h), 9, 256, s))
	}},
	{"a word written into what was copied to", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		r.ok(r.CuStreamWriteValue32(s, r.device(h)+8, 9, 0))
	}},
	{"a graph's memset of what was copied to", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		g := r.graph()
		var n cu.CUgraphNode
		r.ok(r.CuGraphAddMemsetNode(&n, g, nil, 0, &cu.CUDA_MEMSET_NODE_PARAMS{
			Dst: r.device(h), Value: 9, ElementSize: 1, Width: 256, Height: 1,
		}, r.ctx))
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	}},
	{"a graph's kernel that writes what was copied to", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		g := r.graph()
		r.addKernel(g, r.function(r.module(bugs), "count"), r.device(h), 0, 0)
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	}},
	{"rows copied into the middle of what was copied to", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h[160:], p, s)
		r.fetch(h[:96], p, s)
		r.fetchRows(h, r.unwritten(256), s)
	}},
	{"two copies to the same memory", func(r *rig, s cu.CUstream, h []byte, p cu.CUdeviceptr) {
		r.fetch(h, p, s)
		r.fetch(h, r.unwritten(256), s)
	}},
}

func TestTheDeviceMayWritePageLockedMemory(t *testing.T) {
	for _, c := range deviceWrites {
		t.Run(c.name, func(t *testing.T) {
			r := checkedRig(t, emulator.CheckHostMemory)
			s, h, p, g := r.stream(), r.pinned(256), r.filled(256), r.gate()
			g.block(s)
			c.run(r, s, h, p)
			g.open()
			r.settle()
			for _, f := range r.emu.Findings() {
				t.Errorf("found %v", f)
			}
		})
	}
}

func TestTheHostMayGoByAWord(t *testing.T) {
	r := checkedRig(t, emulator.CheckHostMemory)
	s, h, p := r.stream(), r.pinned(256), r.filled(256)
	r.fetch(h, p, s)
	r.passed(s)
	h[3]++
	r.settle()
	for _, f := range r.emu.Findings() {
		t.Errorf("found %v", f)
	}
}

func TestACopyIsSubmittedWhileAnotherRuns(t *testing.T) {
	r := checkedRig(t, emulator.CheckHostMemory)
	const size = 8 << 20
	s, h, p, q := r.stream(), r.pinned(size), r.filled(size), r.alloc(size)
	for range 20 {
		r.fetch(h, p, s)
		r.fetch(h, q, s)
	}
	r.settle()
	for _, f := range r.emu.Findings() {
		t.Errorf("found %v", f)
	}
}

func TestWritesAfterTheCopyRanAreFound(t *testing.T) {
	for _, known := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckHostMemory)
		s, h, p, q := r.stream(), r.pinned(256), r.filled(256), r.alloc(256)
		r.fetch(h, p, s)
		r.store(q, h, s)
		if known {
			r.ok(r.CuStreamSynchronize(s))
		} else {
			r.quietlyPassed(s)
		}
		h[3]++
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != known {
			t.Errorf("with a wait before the write %v: found %v", known, found)
		}
	}
}

// The check may exclude only the bytes that the device writes. Host writes next to them must be
// found.
func TestWritesBesideACopyOfRowsAreFound(t *testing.T) {
	for at, found := range map[int]bool{3: true, 40: true, 70: false, 240: true} {
		r := checkedRig(t, emulator.CheckHostMemory)
		s, h, p, g := r.stream(), r.pinned(256), r.filled(256), r.gate()
		g.block(s)
		r.fetch(h[:64], p, s)
		r.fetch(h[64:96], p, s)
		r.fetch(h[224:], p, s)
		r.fetchRows(h, p, s)
		h[at]++
		g.open()
		r.settle()
		if got := r.emu.Findings(); (len(got) != 0) != found {
			t.Errorf("a write of byte %d: found %v", at, got)
		}
	}
}

// If the device is still writing a copy's source at submission, the source must be checked from the
// start of the copy.
func TestWritesOfASourceThatTheDeviceFilledAreFound(t *testing.T) {
	for _, known := range []bool{true, false} {
		r := checkedRig(t, emulator.CheckHostMemory)
		s, h, q := r.stream(), r.pinned(256), r.alloc(256)
		r.start("count", s, 1, 64, r.device(h), 0, true)
		r.store(q, h, s)
		if known {
			r.ok(r.CuStreamSynchronize(s))
		} else {
			r.quietlyPassed(s)
		}
		h[3]++
		r.settle()
		if found := r.emu.Findings(); (len(found) == 0) != known {
			t.Errorf("with a wait before the write %v: found %v", known, found)
		}
	}
}

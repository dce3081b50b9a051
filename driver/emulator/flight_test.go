package emulator_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// device returns the device address of page-locked memory.
func (r *rig) device(h []byte) cu.CUdeviceptr {
	r.t.Helper()
	var p cu.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&p, unsafe.Pointer(&h[0]), 0))
	return p
}

// fetch and store enqueue a copy of all of h from and to device memory.
func (r *rig) fetch(h []byte, p cu.CUdeviceptr, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyDtoHAsync(unsafe.Pointer(&h[0]), p, uintptr(len(h)), s))
}

func (r *rig) store(p cu.CUdeviceptr, h []byte, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyHtoDAsync(p, unsafe.Pointer(&h[0]), uintptr(len(h)), s))
}

// fetchRows enqueues a copy of two rows of 32 bytes, to bytes 64 to 96 and 192 to 224 of h.
func (r *rig) fetchRows(h []byte, p cu.CUdeviceptr, s cu.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpy2DAsync(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, SrcPitch: 32,
		DstMemoryType: cu.CU_MEMORYTYPE_HOST, DstHost: unsafe.Pointer(&h[0]), DstPitch: 128, DstXInBytes: 64,
		WidthInBytes: 32, Height: 2,
	}, s))
}

// quietlyPassed waits until the work now in s is done, without the host learning about it: the time
// between events says nothing about the order.
func (r *rig) quietlyPassed(s cu.CUstream) {
	r.t.Helper()
	ev, ms := r.event(0), float32(0)
	r.ok(r.CuEventRecord(ev, s))
	for code(r.CuEventElapsedTime(&ms, ev, ev)) == cu.CUDA_ERROR_NOT_READY {
		runtime.Gosched()
	}
}

// filled returns device memory filled with ones.
func (r *rig) filled(bytes int) cu.CUdeviceptr {
	r.t.Helper()
	p := r.alloc(bytes)
	r.ok(r.CuMemsetD8(p, 1, uintptr(bytes)))
	return p
}

// Writes of the device itself to page-locked memory around a copy.
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

// A copy that is submitted while another to the same memory runs.
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

// Only the bytes that the device writes count as written by it. Host writes next to them are found.
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

// If the device was still writing a source when its copy was submitted, the source is checked from
// when the copy runs.
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

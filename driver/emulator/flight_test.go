package emulator_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// device is the address of page-locked memory for the device.
func (r *rig) device(h []byte) driver.CUdeviceptr {
	r.t.Helper()
	var p driver.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&p, unsafe.Pointer(&h[0]), 0))
	return p
}

// fetch and store queue a copy of all of h from and to memory of the device.
func (r *rig) fetch(h []byte, p driver.CUdeviceptr, s driver.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyDtoHAsync(unsafe.Pointer(&h[0]), p, uintptr(len(h)), s))
}

func (r *rig) store(p driver.CUdeviceptr, h []byte, s driver.CUstream) {
	r.t.Helper()
	r.ok(r.CuMemcpyHtoDAsync(p, unsafe.Pointer(&h[0]), uintptr(len(h)), s))
}

// quietlyPassed waits until what s has now is done, without the host learning
// it: the time between events says nothing about what is ordered.
func (r *rig) quietlyPassed(s driver.CUstream) {
	r.t.Helper()
	ev, ms := r.event(0), float32(0)
	r.ok(r.CuEventRecord(ev, s))
	for code(r.CuEventElapsedTime(&ms, ev, ev)) == driver.CUDA_ERROR_NOT_READY {
		runtime.Gosched()
	}
}

// filled is device memory of ones.
func (r *rig) filled(bytes int) driver.CUdeviceptr {
	r.t.Helper()
	p := r.alloc(bytes)
	r.ok(r.CuMemsetD8(p, 1, uintptr(bytes)))
	return p
}

// What the device itself does to page-locked memory around a copy.
var deviceWrites = []struct {
	name string
	run  func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr)
}{
	{"a copy from memory that a copy before it fills", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.fetch(h, p, s)
		r.store(r.unwritten(256), h, s)
	}},
	{"a copy from memory that a kernel before it fills", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.start("count", s, 1, 64, r.device(h), 0, true)
		r.store(p, h, s)
	}},
	{"a copy from memory that a graph before it fills", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		g := r.graph()
		r.addKernel(g, r.function(r.module(bugs), "count"), r.device(h), 0, 0)
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
		r.store(p, h, s)
	}},
	{"a copy from memory that a function of the host before it fills", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		fn := loader.NewCallback(func(uintptr) { h[7]++ })
		r.ok(r.CuLaunchHostFunc(s, driver.CUhostFn(fn), nil))
		r.store(p, h, s)
	}},
	{"a memset of what was copied to", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.fetch(h, p, s)
		r.ok(r.CuMemsetD8Async(r.device(h), 9, 256, s))
	}},
	{"a word written into what was copied to", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.fetch(h, p, s)
		r.ok(r.CuStreamWriteValue32(s, r.device(h)+8, 9, 0))
	}},
	{"a graph's memset of what was copied to", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.fetch(h, p, s)
		g := r.graph()
		var n driver.CUgraphNode
		r.ok(r.CuGraphAddMemsetNode(&n, g, nil, 0, &driver.CUDA_MEMSET_NODE_PARAMS{
			Dst: r.device(h), Value: 9, ElementSize: 1, Width: 256, Height: 1,
		}, r.ctx))
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	}},
	{"a graph's kernel that writes what was copied to", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
		r.fetch(h, p, s)
		g := r.graph()
		r.addKernel(g, r.function(r.module(bugs), "count"), r.device(h), 0, 0)
		r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	}},
	{"two copies to the same memory", func(r *rig, s driver.CUstream, h []byte, p driver.CUdeviceptr) {
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

package emulator_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// User objects are reference-counted. The last release destroys an object, and releasing more
// references than exist fails.
func TestReferencesOfUserObjectsAreCounted(t *testing.T) {
	r := newRig(t)
	destroyed := make(chan uintptr, 4)
	fn := cu.CUhostFn(loader.NewCallback(func(data uintptr) { destroyed <- data }))
	data := new([4]byte)
	var u cu.CUuserObject
	r.ok(r.CuUserObjectCreate(&u, unsafe.Pointer(data), fn, 1, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
	r.ok(r.CuUserObjectRetain(u, 2))
	r.ok(r.CuUserObjectRelease(u, 2))
	g := r.graph()
	r.ok(r.CuGraphRetainUserObject(g, u, 2, 0))
	r.ok(r.CuUserObjectRelease(u, 1))
	select {
	case <-destroyed:
		t.Fatal("destroyed while a graph holds it")
	default:
	}
	r.ok(r.CuGraphReleaseUserObject(g, u, 1))
	r.ok(r.CuGraphReleaseUserObject(g, u, 1))
	last := func() {
		t.Helper()
		select {
		case got := <-destroyed:
			if got != uintptr(unsafe.Pointer(data)) {
				t.Errorf("destroyed with %#x", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("not destroyed with its last reference in 20 s")
		}
	}
	last()
	if r.emu != nil { // a driver does not survive these
		r.want("a reference too many", r.CuUserObjectRelease(u, 1), cu.CUDA_ERROR_INVALID_VALUE)
	}
	var other cu.CUuserObject
	r.ok(r.CuUserObjectCreate(&other, unsafe.Pointer(data), fn, 2, uint32(cu.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
	r.want("none", r.CuUserObjectRelease(other, 0), cu.CUDA_ERROR_INVALID_VALUE)
	if r.emu != nil {
		r.want("more than there are", r.CuUserObjectRelease(other, 3), cu.CUDA_ERROR_INVALID_VALUE)
	}
	r.ok(r.CuUserObjectRelease(other, 1))
	r.ok(r.CuUserObjectRelease(other, 1))
	last()
}

func TestTheContextOfAStreamIsToldWithoutAGreenOne(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	ctx, green := cu.CUcontext(1), cu.CUgreenCtx(1)
	r.ok(r.CuStreamGetCtx_v2(s, &ctx, &green))
	if ctx != r.ctx || green != 0 {
		t.Errorf("context %#x, green context %#x", ctx, green)
	}
}

func TestABatchOfCopiesCopiesEach(t *testing.T) {
	r := newRig(t)
	src, dst, s := r.alloc(32), r.alloc(32), r.stream()
	for i := range 8 {
		r.ok(r.CuMemsetD32(src+cu.CUdeviceptr(4*i), uint32(10+i), 1))
	}
	r.settle()
	dsts, srcs := []cu.CUdeviceptr{dst + 16, dst, dst + 28}, []cu.CUdeviceptr{src, src + 16, src + 12}
	sizes := []uintptr{8, 12, 4}
	attrs := cu.CUmemcpyAttributes{SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	var first uintptr
	r.ok(r.CuMemcpyBatchAsync(&dsts[0], &srcs[0], &sizes[0], 3, &attrs, &first, 1, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("the copies", dst, 14, 15, 16, 0, 10, 11, 0, 13)
}

// An event in a launch attribute is an event of the program.
func TestEventsOfLaunchAttributes(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("a driver does not survive these")
	}
	p, s, ev := r.alloc(4), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
	attr := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}
	cfg := cu.CUlaunchConfig{GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1, HStream: s, Attrs: &attr, NumAttrs: 1}
	f := r.kernel("add")
	set := func(h cu.CUevent) { *(*cu.CUevent)(unsafe.Pointer(&attr.Value)) = h }
	set(0xdead0)
	r.want("no event", r.CuLaunchKernelEx(&cfg, f, args(p, 0, 1), nil), cu.CUDA_ERROR_INVALID_HANDLE)
	g := r.gate()
	g.block(s)
	set(ev)
	r.ok(r.CuLaunchKernelEx(&cfg, f, args(p, 0, 1), nil))
	r.want("before the launch", r.CuEventQuery(ev), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuEventSynchronize(ev))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("the launch", p, 1)
}

// A stream that is destroyed while it takes part in a capture leaves the capture. What it recorded
// must still be joined.
func TestAForkedStreamMayBeDestroyedInACapture(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("a driver may wait in the destruction")
	}
	p, add := r.alloc(8), r.kernel("add")
	a, b, ev, back := r.stream(), r.stream(), r.event(0), r.event(0)
	var forked cu.CUstream
	r.ok(r.CuStreamCreate(&forked, 1))
	r.ok(r.CuStreamBeginCapture(a, relaxed))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuStreamWaitEvent(forked, ev, 0))
	r.ok(r.CuStreamWaitEvent(b, ev, 0))
	r.ok(r.launch(add, forked, p, 0, 1))
	r.ok(r.launch(add, b, p, 1, 1))
	r.ok(r.CuEventRecord(back, b))
	r.ok(r.CuEventRecord(ev, forked))
	r.ok(r.CuStreamWaitEvent(a, back, 0))
	r.ok(r.CuStreamWaitEvent(a, ev, 0))
	r.ok(r.CuStreamDestroy(forked))
	var status cu.CUstreamCaptureStatus
	r.ok(r.CuStreamIsCapturing(b, &status))
	if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		t.Errorf("the other fork's status is %v", status)
	}
	var g cu.CUgraph
	r.ok(r.CuStreamEndCapture(a, &g))
	defer r.CuGraphDestroy(g)
	r.ok(r.CuStreamIsCapturing(b, &status))
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		t.Errorf("after the end the other fork's status is %v", status)
	}
	r.ok(r.CuGraphLaunch(r.instantiate(g), a))
	r.ok(r.CuStreamSynchronize(a))
	r.wantWords("both forks", p, 1, 1)
}

func TestLinkingNeedsAPlaceForTheImage(t *testing.T) {
	r := newRig(t)
	l := r.linker()
	r.ok(l.add(cu.CU_JIT_INPUT_PTX, linkPTX))
	size := uintptr(7)
	r.want("a size alone", r.CuLinkComplete(l.state, nil, &size), cu.CUDA_ERROR_INVALID_VALUE)
	var image unsafe.Pointer
	r.ok(r.CuLinkComplete(l.state, &image, nil)) // the size may be left out
	if image == nil || size != 7 {
		t.Errorf("image %v, size %d", image, size)
	}
	r.ok(r.CuLinkDestroy(l.state))
}

// The direction of a copy depends on the address where it begins, not on the base of its rows.
func TestStatisticsOfCopiesGoByTheAddress(t *testing.T) {
	r := newRigWith(t, emulator.Config{})
	if r.emu == nil {
		t.Skip("about the emulator's statistics")
	}
	p, h := r.alloc(4096), r.pinned(4096)
	before := r.emu.Stats()
	r.ok(r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_UNIFIED, SrcDevice: r.device(h), SrcPitch: 1024, SrcY: 3, SrcXInBytes: 512,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p, DstPitch: 512, WidthInBytes: 512, Height: 1,
	}))
	after := r.emu.Stats()
	if n := after.HostToDevice.Bytes - before.HostToDevice.Bytes; n != 512 {
		t.Errorf("%d bytes went from the host to the device: %+v", n, after)
	}
}

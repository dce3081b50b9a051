package emulator_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

func TestDeviceSaysThatItIsEmulated(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	name := make([]byte, 100)
	r.ok(r.CuDeviceGetName(&name[0], 100, r.dev))
	if !strings.Contains(string(name), "emulator") || !strings.Contains(r.LibraryName(), "emulator") {
		t.Errorf("device %q of library %q does not say that it is emulated", name, r.LibraryName())
	}
}

func TestFunctionsBeforeInitAreRefused(t *testing.T) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	d, err := cu.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	var n int32
	if got := code(d.CuDeviceGetCount(&n)); got != cu.CUDA_ERROR_NOT_INITIALIZED {
		t.Errorf("before cuInit: %v", got)
	}
	if got := code(d.CuInit(1)); got != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("cuInit with flags: %v", got)
	}
}

func TestNoDeviceIsAnErrorOfInit(t *testing.T) {
	emu := emulator.New(emulator.Config{Devices: -1})
	defer emu.Close()
	d, err := cu.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	if got := code(d.CuInit(0)); got != cu.CUDA_ERROR_NO_DEVICE {
		t.Errorf("cuInit without devices: %v", got)
	}
}

func TestEveryAttributeIsAnswered(t *testing.T) {
	r := newRig(t)
	for a := cu.CUdevice_attribute(1); a < cu.CU_DEVICE_ATTRIBUTE_MAX; a++ {
		var v int32
		if err := r.CuDeviceGetAttribute(&v, a, r.dev); err != nil && !onGPU {
			t.Errorf("attribute %v: %v", a, err)
		} else if onGPU {
			t.Logf("%v = %d (%v)", a, v, err)
		}
	}
	var v int32
	r.want("attribute 0", r.CuDeviceGetAttribute(&v, 0, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("device 99", r.CuDeviceGetAttribute(&v, 1, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	var dev cu.CUdevice
	r.want("get device 99", r.CuDeviceGet(&dev, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	r.want("get device -1", r.CuDeviceGet(&dev, -1), cu.CUDA_ERROR_INVALID_DEVICE)
}

func TestErrorNames(t *testing.T) {
	r := newRig(t)
	var p *byte
	r.ok(r.CuGetErrorName(cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, &p))
	if p == nil {
		t.Error("no name")
	}
	r.want("name of 12345", r.CuGetErrorName(12345, &p), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestContextStack(t *testing.T) {
	r := newRig(t)
	var ctx, got cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuCtxGetCurrent(&got))
	if got != ctx {
		t.Error("a created context is not current")
	}
	r.ok(r.CuCtxPopCurrent(&got))
	if got != ctx {
		t.Error("pop answered another context")
	}
	r.ok(r.CuCtxGetCurrent(&got))
	if got != r.ctx {
		t.Error("the primary context is not current again")
	}
	r.ok(r.CuCtxDestroy(ctx))
	r.want("create with bad flags", r.CuCtxCreate(&ctx, nil, 0x8000, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestNoContextIsCurrentOnAnotherThread(t *testing.T) {
	r := newRig(t)
	s, ev, p := r.stream(), r.event(0), r.alloc(4)
	add := r.kernel("add")
	r.elsewhere(func() {
		var ctx cu.CUcontext
		var q cu.CUdeviceptr
		r.ok(r.CuCtxSetCurrent(0))
		r.ok(r.CuCtxGetCurrent(&ctx))
		if ctx != 0 {
			t.Errorf("a context is current: %#x", ctx)
		}
		r.want("alloc", r.CuMemAlloc(&q, 4), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("free of nothing known", r.CuMemFree(p+1<<40), cu.CUDA_ERROR_INVALID_VALUE)
		r.want("event create", r.CuEventCreate(&ev, 0), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("null stream", r.CuStreamSynchronize(0), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("synchronize", r.CuCtxSynchronize(), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("launch by handle", r.launch(add, s, p, 0, 1), 0)
		r.want("stream sync by handle", r.CuStreamSynchronize(s), 0)
		r.want("record by handle", r.CuEventRecord(ev, s), 0)
		r.want("wait event by handle", r.CuStreamWaitEvent(s, ev, 0), 0)
		r.want("memset by handle", r.CuMemsetD32Async(p, 0, 1, s), 0)
		r.want("event sync by handle", r.CuEventSynchronize(ev), 0)
		r.want("query by handle", r.CuEventQuery(ev), 0)
	})
}

func TestDestroyedContextIsRefused(t *testing.T) {
	r := newRig(t)
	var ctx cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.elsewhere(func() {
		r.ok(r.CuCtxSetCurrent(ctx))
		done := make(chan error)
		go func() { done <- r.CuCtxDestroy(ctx) }()
		r.ok(<-done)
		var p cu.CUdeviceptr
		r.want("alloc", r.CuMemAlloc(&p, 4), cu.CUDA_ERROR_CONTEXT_IS_DESTROYED)
	})
	var got cu.CUcontext
	r.ok(r.CuCtxPopCurrent(&got))
}

func TestContextLimitsAndConfigs(t *testing.T) {
	r := newRig(t)
	var v uintptr
	r.ok(r.CuCtxGetLimit(&v, cu.CU_LIMIT_STACK_SIZE))
	r.ok(r.CuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, v))
	r.want("limit 77", r.CuCtxGetLimit(&v, 77), cu.CUDA_ERROR_INVALID_VALUE)
	var least, greatest int32
	r.ok(r.CuCtxGetStreamPriorityRange(&least, &greatest))
	if least != 0 || greatest >= 0 {
		t.Errorf("priorities %d to %d", least, greatest)
	}
	var s cu.CUstream
	r.ok(r.CuStreamCreateWithPriority(&s, 1, -100))
	var p int32
	r.ok(r.CuStreamGetPriority(s, &p))
	if p != greatest {
		t.Errorf("priority %d is not clamped to %d", p, greatest)
	}
	r.ok(r.CuStreamDestroy(s))
}

func TestSeveralDevicesAndPeers(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRigWith(t, emulator.Config{Devices: 2})
	var n, can int32
	r.ok(r.CuDeviceGetCount(&n))
	r.ok(r.CuDeviceCanAccessPeer(&can, 0, 1))
	if n != 2 || can != 1 {
		t.Fatalf("%d devices, peer access %d", n, can)
	}
	p := r.alloc(8)
	r.ok(r.CuMemsetD32(p, 5, 2))
	var other cu.CUcontext
	r.ok(r.CuCtxCreate(&other, nil, 0, 1))
	t.Cleanup(func() { r.ok(r.CuCtxDestroy(other)) })
	q := r.alloc(8)
	r.ok(r.CuMemcpyPeer(q, other, p, r.ctx, 8))
	r.wantWords("peer copy", q, 5, 5)
	r.ok(r.CuCtxEnablePeerAccess(r.ctx, 0))
	r.want("again", r.CuCtxEnablePeerAccess(r.ctx, 0), cu.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
	r.ok(r.launch(r.kernel("add"), 0, p, 0, 1))
	r.ok(r.CuCtxSynchronize()) // the kernel needs the access for as long as it runs
	r.ok(r.CuCtxDisablePeerAccess(r.ctx))
	r.want("again", r.CuCtxDisablePeerAccess(r.ctx), cu.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
}

func TestDeviceAttributesThatAreNotTold(t *testing.T) {
	r := newRig(t)
	var v int32
	r.want("an attribute that is none", r.CuDeviceGetAttribute(&v, 0, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("a device that is none", r.CuDeviceGetAttribute(&v, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	r.want("no place for the value", r.CuDeviceGetAttribute(nil, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("no place and no device", r.CuDeviceGetAttribute(nil, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), cu.CUDA_ERROR_INVALID_VALUE)
}

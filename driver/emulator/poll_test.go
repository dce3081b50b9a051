package emulator_test

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// The loops are empty. Where goroutines share one thread, the queries themselves must let the
// device work.
func TestAskingAgainAndAgainEnds(t *testing.T) {
	r := newRig(t)
	s, start, end := r.stream(), r.event(0), r.event(0)
	p := r.unwritten(1 << 20)
	for name, ask := range map[string]func() cu.CUresult{
		"stream":       func() cu.CUresult { return code(r.CuStreamQuery(s)) },
		"event":        func() cu.CUresult { return code(r.CuEventQuery(end)) },
		"elapsed time": func() cu.CUresult { var ms float32; return code(r.CuEventElapsedTime(&ms, start, end)) },
	} {
		r.ok(r.CuEventRecord(start, s))
		r.ok(r.CuMemsetD8Async(p, 1, 1<<20, s))
		r.ok(r.CuEventRecord(end, s))
		got := cu.CUDA_ERROR_NOT_READY
		for got == cu.CUDA_ERROR_NOT_READY {
			got = ask()
		}
		if got != cu.CUDA_SUCCESS {
			t.Errorf("%s: %v", name, got)
		}
	}
}

const waiter = `.version 7.8
.target sm_70
.address_size 64
.visible .entry waits(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .u64 %p;
	.reg .u32 %v;
	.reg .pred %again;
	ld.param.u64 %p, [p];
again:
	ld.volatile.global.u32 %v, [%p];
	setp.eq.u32 %again, %v, 0;
	@%again bra again;
	st.volatile.global.u32 [%p+4], 7;
	ret;
}`

// A kernel that waits for the host yields to it.
func TestAKernelMayWaitForTheHost(t *testing.T) {
	r := newRig(t)
	f, s, words := r.function(r.module(waiter), "waits"), r.stream(), r.pinned(8)
	flag, answer := (*uint32)(unsafe.Pointer(&words[0])), (*uint32)(unsafe.Pointer(&words[4]))
	atomic.StoreUint32(flag, 0)
	atomic.StoreUint32(answer, 0)
	var p cu.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&p, unsafe.Pointer(flag), 0))
	r.ok(r.launch(f, s, p, 0, 0))
	for range 10 {
		r.want("while it waits", r.CuStreamQuery(s), cu.CUDA_ERROR_NOT_READY)
	}
	atomic.StoreUint32(flag, 1)
	r.ok(r.CuStreamSynchronize(s))
	if got := atomic.LoadUint32(answer); got != 7 {
		t.Errorf("the kernel wrote %d", got)
	}
}

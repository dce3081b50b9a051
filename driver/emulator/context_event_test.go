package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// All existing streams of a context and the legacy stream wait for an event. Work enqueued before
// does not.
func TestAContextWaitsForAnEvent(t *testing.T) {
	r := newRig(t)
	p, shift := r.alloc(8), r.kernel("shift")
	a, b, c, ev := r.stream(), r.stream(), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
	r.ok(r.CuCtxWaitEvent(r.ctx, ev)) // that was never recorded
	r.want("after an event that was not recorded", r.CuStreamQuery(b), 0)
	g := r.gate()
	g.block(a)
	r.ok(r.launch(shift, a, p, 0, 1))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuCtxWaitEvent(r.ctx, ev))
	r.ok(r.launch(shift, b, p, 0, 5))
	r.want("a stream of the context", r.CuStreamQuery(b), cu.CUDA_ERROR_NOT_READY)
	r.want("another one", r.CuStreamQuery(c), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuStreamSynchronize(b))
	r.wantWords("order", p, 7)
}

// An event recorded for a context covers the work of all its streams.
func TestAnEventIsRecordedForAContext(t *testing.T) {
	r := newRig(t)
	a, b, ev := r.stream(), r.stream(), r.event(0)
	g := r.gate()
	g.block(a)
	r.ok(r.CuCtxRecordEvent(r.ctx, ev))
	r.want("with work of a stream left", r.CuEventQuery(ev), cu.CUDA_ERROR_NOT_READY)
	r.want("a stream without work", r.CuStreamQuery(b), 0)
	g.open()
	r.ok(r.CuEventSynchronize(ev))
	r.want("the stream that the event waited for", r.CuStreamQuery(a), 0)
}

// Events of a context order two streams, even if the work has ended before the host requests the
// order.
func TestEventsOfContextsOrderStreams(t *testing.T) {
	for name, between := range map[string]func(r *rig, a, b cu.CUstream){
		"a wait of the context": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuEventRecord(ev, a))
			r.ok(r.CuCtxWaitEvent(r.ctx, ev))
		},
		"a wait of the context for what is over": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuEventRecord(ev, a))
			r.quietlyPassed(a)
			r.ok(r.CuCtxWaitEvent(r.ctx, ev))
		},
		"an event of the context": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuCtxRecordEvent(r.ctx, ev))
			r.ok(r.CuStreamWaitEvent(b, ev, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := checkedRig(t, emulator.CheckGlobalRaces)
			p, a, b := r.alloc(256), r.stream(), r.stream()
			r.start("count", a, 1, 64, p, 0, true)
			between(r, a, b)
			r.start("count", b, 1, 64, p, 0, true)
			r.settle()
			for _, f := range r.emu.Findings() {
				t.Errorf("found %v", f)
			}
		})
	}
}

func TestEventsOfContextsThatAreRefused(t *testing.T) {
	r := newRig(t)
	s, ev := r.stream(), r.event(0)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("a record while capturing", r.CuCtxRecordEvent(r.ctx, ev), unsupported)
	r.want("the end", r.endCapture(s), invalidated)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("a wait while capturing", r.CuCtxWaitEvent(r.ctx, ev), unsupported)
	r.want("the end", r.endCapture(s), invalidated)
	if onGPU {
		t.Skip("a driver does not survive these")
	}
	r.want("a wait for no event", r.CuCtxWaitEvent(r.ctx, 0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("a record of no event", r.CuCtxRecordEvent(r.ctx, 0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
}

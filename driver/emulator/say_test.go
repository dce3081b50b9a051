package emulator_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// asking is a handler of log records that queries the emulator and calls CUDA.
type asking struct {
	slog.Handler
	ask func()
}

func (h *asking) Enabled(context.Context, slog.Level) bool { return true }

func (h *asking) Handle(context.Context, slog.Record) error {
	if ask := h.ask; ask != nil {
		ask()
	}
	return nil
}

// askingRig is a rig whose log handler makes every query, and copies. A test with it that hangs has
// deadlocked on itself.
func askingRig(t *testing.T, check emulator.Check, told *atomic.Int32) *rig {
	t.Helper()
	h := &asking{}
	r := checkedRigWith(t, emulator.Config{Check: check, Log: slog.New(h)})
	var s cu.CUstream
	r.ok(r.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)))
	from, to := r.pinned(4), r.alloc(4)
	var asks atomic.Bool
	h.ask = func() {
		told.Add(1)
		r.emu.Findings()
		r.emu.Leaks()
		if !asks.CompareAndSwap(false, true) { // the copy itself may fail and be logged
			return
		}
		defer asks.Store(false)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var old cu.CUcontext
		if r.CuCtxGetCurrent(&old) != nil || r.CuCtxSetCurrent(r.ctx) != nil {
			return // on the thread of host functions, or after the end
		}
		r.CuMemcpyHtoDAsync(to, unsafe.Pointer(&from[0]), 4, s)
		r.CuStreamSynchronize(s)
		r.CuCtxSetCurrent(old)
	}
	t.Cleanup(func() { r.CuStreamDestroy(s) })
	watch := time.AfterFunc(time.Minute, func() { panic("the log's handler waits for a lock that is held") })
	t.Cleanup(func() { watch.Stop() })
	return r
}

func TestTheLogMayAskTheEmulator(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			var told atomic.Int32
			r := askingRig(t, p.check, &told)
			p.run(r, false)
			code(r.CuCtxSynchronize())
			r.forgive = true
			if told.Load() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestTheLogMayAskTheEmulatorAfterAFailedCall(t *testing.T) {
	var told atomic.Int32
	r := askingRig(t, 0, &told)
	r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
	var m cu.CUmodule
	text := cstr("no PTX")
	if code(r.CuModuleLoadData(&m, unsafe.Pointer(text))) == 0 {
		t.Error("loaded")
	}
	var tex cu.CUtexObject
	r.want("a texture", r.CuTexObjectCreate(&tex, nil, nil, nil), cu.CUDA_ERROR_NOT_SUPPORTED)
	if n := told.Load(); n < 4 {
		t.Errorf("%d records", n)
	}
}

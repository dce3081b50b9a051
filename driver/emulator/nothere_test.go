package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

func TestAContextEndsWithItsLastUser(t *testing.T) {
	if onGPU {
		t.Skip("drivers were asked about primary contexts alone")
	}
	r := newRig(t)
	var ctx, again cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuCtxAttach(&again, 0))
	r.ok(r.CuCtxDetach(ctx))
	r.ok(r.CuCtxSynchronize())
	r.ok(r.CuCtxDetach(ctx))
	r.want("once more", r.CuCtxDetach(ctx), cu.CUDA_ERROR_INVALID_CONTEXT)
	r.ok(r.CuCtxSetCurrent(r.ctx))
}

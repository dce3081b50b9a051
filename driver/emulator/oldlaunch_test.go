package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

func TestLaunchesOfTheOldKind(t *testing.T) {
	r := newRig(t)
	f, p, s := r.kernel("add"), r.alloc(8), r.stream()
	at := uint64(p)
	r.ok(r.CuFuncSetBlockShape(f, 1, 1, 1))
	r.ok(r.CuFuncSetSharedSize(f, 16))
	r.ok(r.CuParamSetSize(f, 16))
	r.ok(r.CuParamSetv(f, 0, unsafe.Pointer(&at), 8))
	r.ok(r.CuParamSeti(f, 8, 1))
	r.ok(r.CuParamSeti(f, 12, 5))
	r.ok(r.CuLaunch(f))
	r.settle()
	r.ok(r.CuLaunchGrid(f, 1, 1))
	r.settle()
	r.ok(r.CuParamSetf(f, 12, 1)) // the bits of 1.0
	r.ok(r.CuLaunchGridAsync(f, 1, 1, s))
	r.wantWords("three launches", p, 0, 10+0x3f800000)
	r.want("empty grid", r.CuLaunchGrid(f, 0, 1), cu.CUDA_ERROR_INVALID_VALUE)
}

// A launch takes the parameters as they are at the call.
func TestParametersCanBeChangedAfterAnOldLaunch(t *testing.T) {
	r := newRig(t)
	f, p, s := r.kernel("add"), r.alloc(4), r.stream()
	g := r.gate()
	at := uint64(p)
	r.ok(r.CuFuncSetBlockShape(f, 1, 1, 1))
	r.ok(r.CuParamSetSize(f, 16))
	r.ok(r.CuParamSetv(f, 0, unsafe.Pointer(&at), 8))
	r.ok(r.CuParamSeti(f, 8, 0))
	r.ok(r.CuParamSeti(f, 12, 5))
	g.block(s)
	r.ok(r.CuLaunchGridAsync(f, 1, 1, s))
	r.ok(r.CuParamSeti(f, 12, 100))
	g.open()
	r.wantWords("the launch", p, 5)
}

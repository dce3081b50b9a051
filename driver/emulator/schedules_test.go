package emulator_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// last makes each thread store its number in one word, which then has the number of the last
// thread.
const last = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry last(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<4>; .reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	atom.global.exch.b32 %r2, [%rd1], %r1;
	ret;
}
`

// lastOf runs it with four blocks of two warps.
func lastOf(emu *emulator.Emulator) (v uint32, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := driver.New(emu)
	if err != nil {
		return 0, err
	}
	do := func(e error) {
		if err == nil {
			err = e
		}
	}
	var dev cu.CUdevice
	var ctx cu.CUcontext
	var m cu.CUmodule
	var f cu.CUfunction
	var p cu.CUdeviceptr
	image := append([]byte(last), 0)
	do(d.CuInit(0))
	do(d.CuDeviceGet(&dev, 0))
	do(d.CuCtxCreate(&ctx, nil, 0, dev))
	do(d.CuModuleLoadData(&m, unsafe.Pointer(&image[0])))
	do(d.CuModuleGetFunction(&f, m, cstr("last")))
	do(d.CuMemAlloc(&p, 4))
	do(d.CuMemsetD32(p, 0, 1))
	do(d.CuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, 0, args(p, 0, 0), nil))
	do(d.CuMemcpyDtoH(unsafe.Pointer(&v), p, 4))
	do(d.CuMemFree(p))
	do(d.CuModuleUnload(m))
	do(d.CuCtxDestroy(ctx))
	return v, err
}

func TestSchedulesFindTheSeedThatFails(t *testing.T) {
	program := func(emu *emulator.Emulator) error {
		v, err := lastOf(emu)
		if err == nil && v/64 != 3 {
			err = fmt.Errorf("the last block is %d, want 3", v/64)
		}
		return err
	}
	err := emulator.Schedules(50, emulator.Config{Check: emulator.CheckAll}, program)
	var bad *emulator.ScheduleError
	if !errors.As(err, &bad) || bad.Seed == 0 {
		t.Fatalf("50 schedules: %v", err)
	}
	emu := emulator.New(emulator.Config{Seed: bad.Seed, Workers: 1})
	defer emu.Close()
	if again := program(emu); again == nil || again.Error() != bad.Err.Error() {
		t.Errorf("seed %d again: %v, was %v", bad.Seed, again, bad.Err)
	}
}

func TestSchedulesReachManyOrders(t *testing.T) {
	var seen []uint32
	err := emulator.Schedules(40, emulator.Config{}, func(emu *emulator.Emulator) error {
		v, err := lastOf(emu)
		if !slices.Contains(seen, v/32) {
			seen = append(seen, v/32)
		}
		return err
	})
	if err != nil || len(seen) < 6 {
		t.Errorf("the last of 8 warps was one of %d, %v", len(seen), err)
	}
}

func TestSchedulesFailOnFindings(t *testing.T) {
	err := emulator.Schedules(3, emulator.Config{Check: emulator.CheckLeaks}, func(emu *emulator.Emulator) error {
		d, err := driver.New(emu)
		if err != nil {
			return err
		}
		var ctx cu.CUcontext
		return errors.Join(d.CuInit(0), d.CuCtxCreate(&ctx, nil, 0, 0))
	})
	var bad *emulator.ScheduleError
	if !errors.As(err, &bad) || bad.Seed != 0 {
		t.Errorf("a leak: %v", err)
	}
}

func ExampleSchedules() {
	err := emulator.Schedules(3, emulator.Config{Check: emulator.CheckAll}, func(emu *emulator.Emulator) error {
		_, err := lastOf(emu)
		return err
	})
	fmt.Println(err)
	// Output: <nil>
}

package emulator_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// bugs contains a kernel for each kind of finding. The parameters are (p *u32, a u32, b u32). If a
// kernel has a correct variant, it runs that variant when b is 1. The .loc directives refer to
// lines of bugs.cu, as in a compiler's output.
var bugs = bugHeader + strings.Join([]string{
	bug("outside", 10, `
	mul.wide.u32 %rd2, %t, 4;
	add.u64 %rd3, %p, %rd2;
	.loc 1 12 3
	st.global.u32 [%rd3], %t;`),
	bug("misaligned", 20, `
	.loc 1 21 3
	ld.global.u32 %r1, [%p+2];`),
	bug("constant", 30, `
	mov.u64 %rd2, table;
	cvta.const.u64 %rd2, %rd2;
	.loc 1 32 3
	st.u32 [%rd2], %t;`),
	bug("shared_end", 40, `
	mov.u32 %r1, tile;
	.loc 1 42 3
	st.shared.u32 [%r1+512], %t;`),

	bug("early_exit", 50, `
	setp.lt.u32 %q1, %t, %a;
	not.pred %q2, %ok;
	and.pred %q1, %q1, %q2;
	.loc 1 52 3
	@%q1 ret;
	.loc 1 53 3
	bar.sync 0;`),
	bug("two_barriers", 60, `
	and.b32 %r1, %t, 1;
	setp.eq.u32 %q1, %r1, 1;
	@%ok bra TOGETHER;
	@%q1 bra ODD;
	.loc 1 63 5
	bar.sync 0;
	ret;
ODD:
	.loc 1 65 5
	bar.sync 0;
	ret;
TOGETHER:
	bar.sync 0;`),

	bug("shared_race", 70, `
	mov.u32 %r1, tile;
	mad.lo.u32 %r2, %t, 4, %r1;
	.loc 1 72 3
	st.shared.u32 [%r2], %t;
	@!%ok bra READ;
	bar.sync 0;
READ:
	xor.b32 %r3, %t, 32;
	mad.lo.u32 %r3, %r3, 4, %r1;
	.loc 1 74 3
	ld.shared.u32 %r4, [%r3];`),
	bug("block_race", 80, `
	.loc 1 81 3
	@%ok red.global.add.u32 [%p], %i;
	@%ok ret;
	.loc 1 83 3
	ld.global.u32 %r1, [%p];
	add.u32 %r1, %r1, %i;
	.loc 1 84 3
	st.global.u32 [%p], %r1;`),
	bug("no_fence", 90, `
	mul.wide.u32 %rd2, %i, 4;
	add.u64 %rd2, %rd2, %p;
	.loc 1 92 3
	st.global.u32 [%rd2+4], %i;
	@!%ok bra COUNT;
	membar.gl;
COUNT:
	.loc 1 94 3
	atom.global.add.u32 %r1, [%p], 1;
	setp.ne.u32 %q1, %r1, %a;
	@%q1 ret;
	.loc 1 96 5
	ld.global.u32 %r2, [%p+4];`),
	bug("count", 100, `
	mul.wide.u32 %rd2, %i, 4;
	add.u64 %rd2, %rd2, %p;
	.loc 1 102 3
	ld.global.u32 %r1, [%rd2];
	add.u32 %r1, %r1, 1;
	.loc 1 103 3
	st.global.u32 [%rd2], %r1;`),

	bug("shared_unwritten", 110, `
	mov.u32 %r1, tile;
	@!%ok bra READ2;
	st.shared.u32 [%r1+8], %t;
READ2:
	.loc 1 113 3
	ld.shared.u32 %r2, [%r1+8];`),
	bug("local_unwritten", 120, `
	.local .align 4 .b8 own[16];
	mov.u64 %rd2, own;
	@!%ok bra READ3;
	st.local.u32 [%rd2+4], %t;
READ3:
	.loc 1 123 3
	ld.local.u32 %r2, [%rd2+4];`),

	bug("two_numbers", 130, `
	setp.lt.u32 %q1, %t, 32;
	@%ok bra SAME;
	.loc 1 133 3
	@%q1 bar.sync 1;
SAME:
	bar.sync 0;`),
	bug("no_arrival", 140, `
	.shared .align 8 .b64 object;
	setp.eq.u32 %q1, %t, 0;
	@%q1 mbarrier.init.shared.b64 [object], 65;
	bar.sync 0;
	mbarrier.arrive.shared.b64 %rd2, [object];
	and.pred %q2, %q1, %ok;
	@%q2 mbarrier.arrive.shared.b64 %rd3, [object];
WAIT:
	.loc 1 147 3
	mbarrier.test_wait.shared.b64 %q3, [object], %rd2;
	@!%q3 bra WAIT;`),
	bug("traps", 150, `
	setp.ge.u32 %q1, %t, %a;
	.loc 1 152 3
	@%q1 trap;`),
}, "")

const bugHeader = `
.version 7.0
.target sm_80
.address_size 64
.file 1 "bugs.cu"
.const .align 4 .b8 table[64];
`

// bug returns the text of a kernel. In body, %t holds the thread's index in the block and %i its
// index in the grid. %ok says whether to run the correct variant.
func bug(name string, line int, body string) string {
	return `
.visible .entry ` + name + `(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .pred %q<4>, %ok; .reg .b32 %r<8>, %t, %i, %a; .reg .b64 %rd<4>, %p;
	.shared .align 4 .b8 tile[512];
	ld.param.u64 %p, [p];
	ld.param.u32 %a, [a];
	ld.param.u32 %r0, [b];
	setp.eq.u32 %ok, %r0, 1;
	mov.u32 %t, %tid.x;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mad.lo.u32 %i, %r1, %r2, %t;` + body + `
	ret;
}
`
}

// last is a kernel in which each thread stores its index in the same word. The word then contains
// the index of the thread that ran last.
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

// lastOf runs last with four blocks of two warps.
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

func ExampleEmulator_Findings() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	emu := emulator.New(emulator.Config{Check: emulator.CheckAll})
	d, err := driver.New(emu)
	if err != nil {
		fmt.Println(err)
		return
	}
	var ctx cu.CUcontext
	if err := d.CuInit(0); err != nil {
		fmt.Println(err)
		return
	}
	if err := d.CuCtxCreate(&ctx, nil, 0, 0); err != nil { // the example does not destroy the context
		fmt.Println(err)
		return
	}
	emu.Close()
	for _, f := range emu.Findings() {
		fmt.Println(f.Kind)
	}
	// Output: leak
}

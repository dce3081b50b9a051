package vm_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func TestLoadsAndStoresOfAllWidths(t *testing.T) {
	got := runThreads(t, 32, `
	.shared .align 16 .b8 buf[1024];
	mov.u32 %r1, buf;
	shl.b32 %r2, %r0, 4;
	add.u32 %r1, %r1, %r2;
	sub.u32 %r3, 0, %r0;
	.reg .b16 %h<4>;
	cvt.u16.u32 %h0, %r3;
	st.shared.u8 [%r1], %h0;
	st.shared.u8 [%r1+1], %r3;
	st.shared.u16 [%r1+2], %h0;
	st.shared.u32 [%r1+4], %r3;
	cvt.s64.s32 %rd1, %r3;
	st.shared.u64 [%r1+8], %rd1;
	ld.shared.s8 %r4, [%r1];
	ld.shared.u8 %r5, [%r1+1];
	ld.shared.s16 %r6, [%r1+2];
	ld.shared.u16 %h1, [%r1+2];
	cvt.u32.u16 %r7, %h1;
	ld.shared.s8 %h2, [%r1];
	cvt.s32.s16 %r8, %h2;
	ld.shared.s32 %rd2, [%r1+4];
	ld.shared.u64 %rd3, [%r1+8];
	sub.s64 %rd4, %rd2, %rd3;
	cvt.u32.u64 %r9, %rd4;
	add.s32 %d, %r4, %r5;
	add.s32 %d, %d, %r6;
	add.s32 %d, %d, %r7;
	add.s32 %d, %d, %r8;
	add.s32 %d, %d, %r9;`)
	for i, v := range got {
		n := int32(-i)
		want := int32(int8(n)) + int32(uint8(n)) + int32(int16(n)) + int32(uint16(n)) + int32(int8(n))
		if int32(v) != want {
			t.Errorf("thread %d: %d, want %d", i, int32(v), want)
		}
	}
}

func TestVectorAccesses(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 a, .param .u64 b)
{
	.reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .f64 %g<4>; .reg .b16 %h<6>; .reg .v4 .b32 %v;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd3, %r0, 32;
	add.u64 %rd1, %rd1, %rd3;
	add.u64 %rd2, %rd2, %rd3;
	ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
	ld.global.cs.v2.u64 {%rd4, %rd5}, [%rd1+16];
	st.global.v4.b32 [%rd2], {%r4, %r3, %r2, %r1};
	st.global.cg.v2.f64 [%rd2+16], {%rd5, %rd4};
	ld.volatile.global.v2.u32 {%r5, _}, [%rd2];
	ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%rd2+16];
	st.global.v2.u16 [%rd2+16], {%h1, %h0};
	ld.global.v4.b32 %v, [%rd1];
	st.global.u32 [%rd2+4], %v.w;
	ret;
}`)
	in := make([]uint32, 8*32)
	for i := range in {
		in[i] = uint32(i)*0x10001 + 7
	}
	a, b := upload(m, in), upload(m, make([]uint32, len(in)))
	m.mustLaunch("k", 32, a, b)
	out := download[uint32](m, b, len(in))
	for i := 0; i < len(in); i += 8 {
		x := in[i : i+8]
		want := [8]uint32{x[3], x[3], x[1], x[0], x[6]>>16 | x[6]<<16, x[7], x[4], x[5]}
		if [8]uint32(out[i:i+8]) != want {
			t.Fatalf("thread %d: %#x, want %#x", i/8, out[i:i+8], want)
		}
	}
}

func TestGlobalsConstantsAndInitialisers(t *testing.T) {
	m := load(t, `
.global .align 4 .u32 table[4] = {10, 20, 30, 40};
.const .align 8 .f64 scale = 0d4000000000000000;
.const .f32 weights[2][2] = {{1.0, 2.0}, {3.0, 4.0}};
.global .u64 pointer = table;
.global .u64 element = generic(table) + 8;
.visible .global .align 8 .b8 text[6] = {104, 101, 0x6c, 108, 111, 0};
.visible .global .u32 counter;
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f64 %g<4>; .reg .f32 %f<4>; .reg .u16 %h;
	ld.param.u64 %rd1, [out];
	ld.global.u32 %r1, [table+4];
	ld.const.f64 %g1, [scale];
	cvt.rzi.u32.f64 %r2, %g1;
	ld.global.u64 %rd2, [pointer];
	ld.u32 %r3, [%rd2+12];
	ld.global.u64 %rd3, [element];
	ld.global.u32 %r4, [%rd3];
	mov.u64 %rd4, weights;
	ld.const.f32 %f1, [%rd4+8];
	cvt.rzi.u32.f32 %r5, %f1;
	ld.global.u8 %h, [text+1];
	cvt.u32.u16 %r6, %h;
	add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6;
	st.global.u32 [%rd1], %r1;
	atom.global.add.u32 %r7, [counter], 1;
	ret;
}`)
	out := upload(m, []uint32{0})
	m.mustLaunch("k", 1, out)
	if v := download[uint32](m, out, 1)[0]; v != 20+2+40+30+3+'e' {
		t.Errorf("sum is %d", v)
	}
	v, ok := m.mod.Variable("counter")
	if !ok || v.Size != 4 || download[uint32](m, v.Addr, 1)[0] != 1 {
		t.Errorf("counter is %+v", v)
	}
	if err := m.mod.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := m.mem.Find(v.Addr); ok {
		t.Error("a variable outlives its module")
	}
}

func TestDynamicSharedMemory(t *testing.T) {
	m := load(t, `
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>; .reg .b64 %rd<4>;
	.shared .u32 fixed[5];
	ld.param.u64 %rd1, [out];
	mov.u32 %r0, %tid.x;
	mov.u32 %r1, dyn;
	mad.lo.u32 %r1, %r0, 4, %r1;
	st.shared.u32 [%r1], %r0;
	st.shared.u32 [fixed+16], 99;
	bar.sync 0;
	mov.u32 %r2, dyn;
	sub.u32 %r3, 31, %r0;
	mad.lo.u32 %r2, %r3, 4, %r2;
	ld.shared.u32 %r4, [%r2];
	mov.u32 %r5, %dynamic_smem_size;
	add.u32 %r4, %r4, %r5;
	mul.wide.u32 %rd2, %r0, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r4;
	ret;
}`)
	out := upload(m, make([]uint32, 32))
	o := grid(1, 32)
	o.DynamicShared = 128
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 32) {
		if v != uint32(31-i)+128 {
			t.Errorf("thread %d: %d", i, v)
		}
	}
	k, _ := m.mod.Kernel("k")
	if n := k.Attributes().SharedBytes; n != 20 {
		t.Errorf("static shared memory is %d bytes, want 20", n)
	}
	o.DynamicShared = 64
	f := faultOf(t, m.launchWith("k", o, out))
	if f.Kind != vm.FaultIllegal || f.Space != "shared" || f.Thread.X != 16 || !f.Write {
		t.Errorf("fault is %v", f)
	}
}

func TestLocalMemoryBelongsToTheThread(t *testing.T) {
	got := runThreads(t, 64, `
	.local .align 16 .b8 depot[64];
	.reg .b64 %SP, %SPL;
	mov.u64 %SPL, depot;
	cvta.local.u64 %SP, %SPL;
	st.local.u32 [%SPL+8], %r0;
	add.u64 %rd1, %SP, 8;
	ld.u32 %r1, [%rd1];
	mul.lo.u32 %r1, %r1, 3;
	st.u32 [%rd1+4], %r1;
	ld.local.v2.u32 {%r2, %r3}, [%SPL+8];
	isspacep.local %p0, %SP;
	selp.u32 %r4, 1000, 0, %p0;
	add.u32 %d, %r2, %r3;
	add.u32 %d, %d, %r4;`)
	for i, v := range got {
		if v != uint32(4*i+1000) {
			t.Errorf("thread %d: %d, want %d", i, v, 4*i+1000)
		}
	}
}

func TestKernelParametersByAddress(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out, .param .align 8 .b8 s[24], .param .u16 h, .param .align 16 .b8 v[16])
{
	.reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .u16 %h;
	ld.param.u64 %rd1, [out];
	mov.b64 %rd2, s;
	ld.param.u32 %r1, [%rd2+8];
	ld.param.u32 %r2, [s+20];
	ld.param.u16 %h, [h];
	cvt.u32.u16 %r3, %h;
	ld.param.v2.u32 {%r4, %r5}, [v+8];
	add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
	cvta.param.u64 %rd3, %rd2;
	ld.u32 %r6, [%rd3];
	add.u32 %r1, %r1, %r6;
	st.global.u32 [%rd1], %r1;
	ret;
}`)
	k, _ := m.mod.Kernel("k")
	p := k.Params()
	if len(p) != 4 || p[1].Offset != 8 || p[2].Offset != 32 || p[3].Offset != 48 || p[3].Size != 16 || p[1].Align != 8 {
		t.Errorf("parameters are %+v", p)
	}
	out := upload(m, []uint32{0})
	block := [6]uint32{1, 0, 10, 0, 0, 100}
	m.mustLaunch("k", 1, out, block[0], block[1], block[2], block[3], block[4], block[5], uint16(1000), uint64(0), uint32(0), uint32(0), uint32(10000), uint32(100000))
	if v := download[uint32](m, out, 1)[0]; v != 111111 {
		t.Errorf("sum is %d", v)
	}
}

func TestFaultsNameKernelLineThreadAndAllocation(t *testing.T) {
	m := load(t, header+`.visible .entry k(.param .u64 p, .param .u32 step)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [step];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd2, %r2, %r1;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1+4], %r2;
	ret;
}`)
	p := upload(m, make([]uint32, 16)) // a 64-byte buffer
	f := faultOf(t, m.launch("k", 32, p, uint32(4)))
	if f.Kind != vm.FaultIllegal || f.Result() != 700 || f.Kernel != "k" || f.Line != 12 || f.Thread.X != 15 || f.Addr != p+64 || f.Size != 4 || !f.Write {
		t.Errorf("fault is %+v", f)
	}
	if !strings.Contains(f.Error(), "0 bytes after the end of test buffer") || !strings.Contains(f.Error(), "test.ptx:12") {
		t.Errorf("report is %v", f)
	}
	f = faultOf(t, m.launch("k", 32, p, uint32(2)))
	if f.Kind != vm.FaultMisaligned || f.Result() != 716 || f.Thread.X != 1 {
		t.Errorf("fault is %v", f)
	}
	f = faultOf(t, m.launch("k", 32, uint64(0), uint32(4)))
	if f.Kind != vm.FaultIllegal || f.Addr != 4 {
		t.Errorf("fault is %v", f)
	}
	if _, err := m.mem.Free(p, "cuMemFree"); err != nil {
		t.Fatal(err)
	}
	f = faultOf(t, m.launch("k", 2, p, uint32(4)))
	if f.Kind != vm.FaultUseAfterFree || f.Result() != 700 || !strings.Contains(f.Detail, "freed by cuMemFree") {
		t.Errorf("fault is %v", f)
	}
	q, err := m.mem.Alloc(256, vm.AllocOptions{Device: 1, Tag: "other device"})
	if err != nil {
		t.Fatal(err)
	}
	f = faultOf(t, m.launch("k", 2, q, uint32(4)))
	if f.Kind != vm.FaultIllegal || !strings.Contains(f.Detail, "peer access is not enabled") {
		t.Errorf("fault is %v", f)
	}
	o := grid(1, 2)
	o.Peers = 2
	if err := m.launchWith("k", o, q, uint32(4)); err != nil {
		t.Errorf("access to a peer: %v", err)
	}
	c := faultOf(t, load(t, `.const .u32 c[4]; .visible .entry k() { .reg .b64 %rd; mov.u64 %rd, c; st.global.u32 [%rd], 1; ret; }`).launch("k", 1))
	if c.Kind != vm.FaultSpace || c.Result() != 717 {
		t.Errorf("fault is %v", c)
	}
}

func TestHostMemoryAtItsOwnAddress(t *testing.T) {
	m := load(t, vectorAdd)
	host, err := vm.NewBuffer(400)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := m.mem.MapHost(host, vm.AllocOptions{Kind: vm.RegionHost, Tag: "cuMemHostAlloc"})
	if err != nil {
		t.Fatal(err)
	}
	a, b := random32(100, 1), random32(100, 2)
	if err := m.launch("vadd", 100, upload(m, a), upload(m, b), addr, uint32(100)); err != nil {
		t.Fatal(err)
	}
	for i, c := range download[float32](m, addr, 100) {
		if c != a[i]+b[i] {
			t.Fatalf("c[%d] = %v", i, c)
		}
	}
}

func TestGatherFromManyAllocations(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 ptrs, .param .u64 out)
{
	.reg .b32 %r<4>; .reg .b64 %rd<8>;
	ld.param.u64 %rd1, [ptrs];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 8;
	add.u64 %rd1, %rd1, %rd3;
	ld.global.u64 %rd4, [%rd1];
	ld.global.u32 %r2, [%rd4];
	mul.wide.u32 %rd5, %r1, 4;
	add.u64 %rd2, %rd2, %rd5;
	st.global.u32 [%rd2], %r2;
	ret;
}`)
	var ptrs []uint64
	for i := range 64 {
		ptrs = append(ptrs, upload(m, []uint32{uint32(i * i)}))
	}
	out := upload(m, make([]uint32, 64))
	m.mustLaunch("k", 64, upload(m, ptrs), out)
	for i, v := range download[uint32](m, out, 64) {
		if v != uint32(i*i) {
			t.Errorf("element %d: %d", i, v)
		}
	}
}

func TestUnsupportedInstructionsAreNamedWithTheirLine(t *testing.T) {
	_, err := tryLoad(t, header+`.visible .entry k()
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	tex.1d.v4.f32.s32 {%r1, %r1, %r1, %r1}, [%rd1, {%r1}];
	mov.u32 %r1, %nothing;
	add.u32 %r1, %r9, 1;
	ret;
}`)
	if err == nil {
		t.Fatal("compiled")
	}
	for _, want := range []string{"test.ptx:8: tex.1d.v4.f32.s32", "test.ptx:9: mov.u32", "test.ptx:10: add.u32: register %r9 is not declared"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

// atomics runs an atomic operation on one element with 256 threads in 4 blocks.
func atomics[T number](t *testing.T, op, typ string, init T, operand string) (final T, sumOfOld float64) {
	t.Helper()
	m := load(t, fmt.Sprintf(`.visible .entry k(.param .u64 p, .param .u64 old)
{
	.reg .b32 %%r<8>; .reg .b64 %%rd<8>; .reg .%[2]s %%v, %%o, %%z; .reg .f32 %%f; .reg .f64 %%g;
	ld.param.u64 %%rd1, [p];
	ld.param.u64 %%rd2, [old];
	mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x;
	mad.lo.u32 %%r1, %%r2, %%r3, %%r1;
	%[3]s
	atom.global.%[1]s.%[2]s %%o, [%%rd1], %%v;
	mul.wide.u32 %%rd3, %%r1, %[4]d;
	add.u64 %%rd2, %%rd2, %%rd3;
	st.global.%[2]s [%%rd2], %%o;
	ret;
}`, op, typ, operand, sizeOf(typ)))
	p, old := upload(m, []T{init}), upload(m, make([]T, 256))
	if err := m.launchWith("k", grid(4, 64), p, old); err != nil {
		t.Fatal(err)
	}
	for _, v := range download[T](m, old, 256) {
		sumOfOld += float64(v)
	}
	return download[T](m, p, 1)[0], sumOfOld
}

func TestAtomicsOnIntegers(t *testing.T) {
	if v, old := atomics[uint32](t, "add", "u32", 10, "mov.u32 %v, 3;"); v != 10+768 || old != 2560+3*255*128 {
		t.Errorf("add.u32: %d, sum of old values %v", v, old)
	}
	if v, _ := atomics[uint64](t, "add", "u64", 1<<40, "mov.u64 %v, 1;"); v != 1<<40+256 {
		t.Errorf("add.u64: %d", v)
	}
	if v, _ := atomics[int32](t, "min", "s32", 5, "sub.s32 %v, 50, %r1;"); v != -205 {
		t.Errorf("min.s32: %d", v)
	}
	if v, _ := atomics[uint32](t, "max", "u32", 5, "add.u32 %v, %r1, 1;"); v != 256 {
		t.Errorf("max.u32: %d", v)
	}
	if v, _ := atomics[int64](t, "max", "s64", -5, "cvt.s64.u32 %v, %r1; neg.s64 %v, %v;"); v != 0 {
		t.Errorf("max.s64: %d", v)
	}
	if v, _ := atomics[uint32](t, "inc", "u32", 0, "mov.u32 %v, 9;"); v != 256%10 {
		t.Errorf("inc: %d", v)
	}
	if v, _ := atomics[uint32](t, "dec", "u32", 0, "mov.u32 %v, 9;"); v != 4 {
		t.Errorf("dec: %d", v)
	}
	if v, _ := atomics[uint32](t, "and", "b32", 0xffffffff, "not.b32 %v, %r1;"); v != 0xffffff00 {
		t.Errorf("and: %#x", v)
	}
	if v, _ := atomics[uint32](t, "or", "b32", 0, "mov.b32 %v, %r1;"); v != 0xff {
		t.Errorf("or: %#x", v)
	}
	if v, _ := atomics[uint64](t, "xor", "b64", 7, "cvt.u64.u32 %v, %r1;"); v != 7 {
		t.Errorf("xor: %#x", v)
	}
	// Each exchange returns the value stored before it. The sum of all returned values and the
	// final value must therefore equal the sum of all stored values, including the initial one.
	v, old := atomics[uint32](t, "exch", "b32", 1000, "mov.b32 %v, %r1;")
	if float64(v)+old != 1000+255*128 {
		t.Errorf("exch: %d and %v", v, old)
	}
}

func TestAtomicsOnFloats(t *testing.T) {
	if v, _ := atomics[float32](t, "add", "f32", 0.5, "mov.f32 %v, 0f3E800000;"); v != 64.5 {
		t.Errorf("add.f32: %v", v)
	}
	if v, _ := atomics[float64](t, "add", "f64", 0.5, "mov.f64 %v, 0d3FD0000000000000;"); v != 64.5 {
		t.Errorf("add.f64: %v", v)
	}
	m := load(t, `.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<4>; .reg .b16 %h; .reg .b32 %x;
	ld.param.u64 %rd1, [p];
	mov.b16 %h, 0x3c00;
	mov.b32 {%h, %h}, 0x3c003c00;
	red.global.add.noftz.f16 [%rd1+2], %h;
	mov.b32 %x, {%h, %h};
	red.global.add.noftz.f16x2 [%rd1+4], %x;
	ret;
}`)
	p := upload(m, make([]uint16, 4))
	m.mustLaunch("k", 64, p)
	for i, h := range download[uint16](m, p, 4) {
		want := 64.0
		if i == 0 {
			want = 0
		}
		if decodeF16(h) != want {
			t.Errorf("half %d is %v, want %v", i, decodeF16(h), want)
		}
	}
}

// The number must replace the NaN, and -0 must be below +0.
func TestAtomicMinMaxOnHalves(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd1; .reg .b16 %h<3>; .reg .b32 %x<3>;
	ld.param.u64 %rd1, [p];
	mov.b16 %h1, 0x4000; mov.b16 %h2, 0xbc00;
	red.global.max.noftz.v2.f16 [%rd1], {%h1, %h2};
	red.global.min.noftz.v2.bf16 [%rd1+4], {%h1, %h2};
	mov.b32 %x1, {%h1, %h2}; mov.b32 %x2, 0x80000000;
	red.global.min.noftz.v2.f16x2 [%rd1+8], {%x1, %x2};
	ret;
}`)
	p := upload(m, []uint16{0x3c00, 0x7e00, 0x7fc0, 0x3f80, 0x4200, 0xbe00, 0, 0})
	m.mustLaunch("k", 1, p)
	want := []uint16{0x4000, 0xbc00, 0x4000, 0xbc00, 0x4000, 0xbe00, 0, 0x8000}
	if got := download[uint16](m, p, 8); !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

func TestCompareAndSwapCountsExactly(t *testing.T) {
	for _, typ := range []string{"b16", "b32", "b64"} {
		m := load(t, fmt.Sprintf(`.visible .entry k(.param .u64 p)
{
	.reg .b64 %%rd<4>; .reg .pred %%p; .reg .%[1]s %%o, %%n, %%s; .reg .b32 %%r;
	ld.param.u64 %%rd1, [p];
	ld.global.%[1]s %%o, [%%rd1];
L:
	add.u%[2]s %%n, %%o, 1;
	atom.global.cas.%[1]s %%s, [%%rd1], %%o, %%n;
	setp.eq.u%[2]s %%p, %%s, %%o;
	mov.%[1]s %%o, %%s;
	@!%%p bra L;
	ret;
}`, typ, typ[1:]))
		p := upload(m, make([]uint64, 1))
		if err := m.launchWith("k", grid(4, 64), p); err != nil {
			t.Fatal(err)
		}
		if n := download[uint64](m, p, 1)[0]; n != 256 {
			t.Errorf("%s: %d, want 256", typ, n)
		}
	}
}

func TestSharedAndGenericAtomics(t *testing.T) {
	got := runThreads(t, 96, `
	.shared .u32 n;
	.shared .u64 wide;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.shared.u32 [n], 0;
	@%p0 st.shared.u64 [wide], 0;
	bar.sync 0;
	atom.shared.add.u32 %r1, [n], 2;
	mov.u64 %rd1, n;
	cvta.shared.u64 %rd2, %rd1;
	red.add.u32 [%rd2], 1;
	mov.u64 %rd3, 1;
	red.shared.add.u64 [wide], %rd3;
	bar.sync 0;
	ld.u32 %d, [%rd2];
	ld.shared.u32 %r2, [wide];
	add.u32 %d, %d, %r2;
	isspacep.shared %p1, %rd2;
	isspacep.global %p2, %out;
	@!%p1 mov.u32 %d, 1;
	@!%p2 mov.u32 %d, 2;`)
	for i, v := range got {
		if v != 96*4 {
			t.Errorf("thread %d: %d, want %d", i, v, 96*4)
		}
	}
}

func TestAtomicsOfBlocksOnSeveralWorkers(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p; .reg .f32 %f;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, 0;
	mov.f32 %f, 0f3F800000;
L:
	red.global.add.u32 [%rd1], 1;
	red.global.add.f32 [%rd1+4], %f;
	red.global.max.u32 [%rd1+8], %r1;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p, %r1, 20;
	@%p bra L;
	ret;
}`)
	p := upload(m, make([]uint32, 3))
	o := grid(32, 64)
	o.Workers = 4
	if err := m.launchWith("k", o, p); err != nil {
		t.Fatal(err)
	}
	v := download[uint32](m, p, 3)
	if v[0] != 32*64*20 || math.Float32frombits(v[1]) != 32*64*20 || v[2] != 19 {
		t.Errorf("counts are %d, %v, %d", v[0], math.Float32frombits(v[1]), v[2])
	}
}

func TestAtomicsOf128Bits(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<8>; .reg .b128 %a, %b, %c; .reg .pred %p;
	ld.param.u64 %rd1, [p];
	ld.global.b128 %a, [%rd1];
L:
	mov.b128 {%rd2, %rd3}, %a;
	add.u64 %rd4, %rd2, 1;
	sub.u64 %rd5, %rd3, 1;
	mov.b128 %b, {%rd4, %rd5};
	atom.global.cas.b128 %c, [%rd1], %a, %b;
	mov.b128 {%rd6, %rd7}, %c;
	setp.eq.u64 %p, %rd6, %rd2;
	mov.b128 %a, %c;
	@!%p bra L;
	ret;
}`)
	p := upload(m, []uint64{5, 1000})
	if err := m.launchWith("k", grid(2, 64), p); err != nil {
		t.Fatal(err)
	}
	if v := download[uint64](m, p, 2); v[0] != 133 || v[1] != 872 {
		t.Errorf("pair is %v", v)
	}
}

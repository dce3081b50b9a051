package vm_test

import (
	"fmt"
	"math"
	"testing"
)

// atomics runs an operation on one element by 256 threads of 4 blocks.
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
	// The values returned by all exchanges and the final value must be exactly the values that were
	// ever stored.
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

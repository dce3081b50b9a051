package vm_test

import (
	"math"
	"math/rand/v2"
	"testing"
)

const vectorAdd = `
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .pred %p1;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<11>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r1, %r3, %r4, %r5;
	setp.ge.s32 %p1, %r1, %r2;
	@%p1 bra $L__BB0_2;
	cvta.to.global.u64 %rd4, %rd1;
	mul.wide.s32 %rd5, %r1, 4;
	add.s64 %rd6, %rd4, %rd5;
	cvta.to.global.u64 %rd7, %rd2;
	add.s64 %rd8, %rd7, %rd5;
	ld.global.f32 %f1, [%rd8];
	ld.global.f32 %f2, [%rd6];
	add.f32 %f3, %f2, %f1;
	cvta.to.global.u64 %rd9, %rd3;
	add.s64 %rd10, %rd9, %rd5;
	st.global.f32 [%rd10], %f3;
$L__BB0_2:
	ret;
}
`

func random32(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestVectorAddOverAPartialLastBlock(t *testing.T) {
	m := load(t, vectorAdd)
	const n = 1000
	a, b := random32(n, 1), random32(n, 2)
	pa, pb, pc := upload(m, a), upload(m, b), upload(m, make([]float32, n))
	if err := m.launchWith("vadd", grid(8, 128), pa, pb, pc, uint32(n)); err != nil {
		t.Fatal(err)
	}
	for i, c := range download[float32](m, pc, n) {
		if c != a[i]+b[i] {
			t.Fatalf("c[%d] = %v, want %v", i, c, a[i]+b[i])
		}
	}
}

// rmsNorm normalises a row per block, with shuffles within warps and shared memory between warps.
const rmsNorm = `
.visible .entry rms(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 eps)
{
	.reg .pred %p<5>;
	.reg .f32 %f<16>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<10>;
	.shared .align 4 .b8 part[128];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	ld.param.f32 %f1, [eps];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %ctaid.x;
	mul.lo.u32 %r5, %r4, %r1;
	mul.wide.u32 %rd3, %r5, 4;
	add.u64 %rd1, %rd1, %rd3;
	add.u64 %rd2, %rd2, %rd3;
	mov.f32 %f2, 0f00000000;
	mov.u32 %r6, %r2;
SUM:
	setp.ge.u32 %p1, %r6, %r1;
	@%p1 bra SUMMED;
	mul.wide.u32 %rd4, %r6, 4;
	add.u64 %rd5, %rd1, %rd4;
	ld.global.f32 %f3, [%rd5];
	fma.rn.f32 %f2, %f3, %f3, %f2;
	add.u32 %r6, %r6, %r3;
	bra SUM;
SUMMED:
	mov.u32 %r7, 16;
SHUF:
	mov.b32 %r8, %f2;
	shfl.sync.bfly.b32 %r9, %r8, %r7, 31, -1;
	mov.b32 %f4, %r9;
	add.f32 %f2, %f2, %f4;
	shr.u32 %r7, %r7, 1;
	setp.ne.u32 %p2, %r7, 0;
	@%p2 bra SHUF;
	and.b32 %r10, %r2, 31;
	shr.u32 %r11, %r2, 5;
	mov.u32 %r12, part;
	shl.b32 %r13, %r11, 2;
	add.u32 %r13, %r13, %r12;
	setp.eq.u32 %p3, %r10, 0;
	@%p3 st.shared.f32 [%r13], %f2;
	bar.sync 0;
	mov.f32 %f5, 0f00000000;
	shr.u32 %r14, %r3, 5;
	mov.u32 %r7, 0;
ALL:
	ld.shared.f32 %f6, [%r12];
	add.f32 %f5, %f5, %f6;
	add.u32 %r12, %r12, 4;
	add.u32 %r7, %r7, 1;
	setp.lt.u32 %p4, %r7, %r14;
	@%p4 bra ALL;
	cvt.rn.f32.u32 %f7, %r1;
	div.rn.f32 %f8, %f5, %f7;
	add.f32 %f9, %f8, %f1;
	rsqrt.approx.f32 %f10, %f9;
	mov.u32 %r6, %r2;
OUT:
	setp.ge.u32 %p1, %r6, %r1;
	@%p1 ret;
	mul.wide.u32 %rd4, %r6, 4;
	add.u64 %rd5, %rd1, %rd4;
	add.u64 %rd6, %rd2, %rd4;
	ld.global.nc.f32 %f3, [%rd5];
	mul.f32 %f11, %f3, %f10;
	st.global.f32 [%rd6], %f11;
	add.u32 %r6, %r6, %r3;
	bra OUT;
}
`

func TestNormOfRowsWithShufflesAndSharedMemory(t *testing.T) {
	m := load(t, rmsNorm)
	const rows, n, threads = 5, 300, 128
	x := random32(rows*n, 3)
	px, py := upload(m, x), upload(m, make([]float32, rows*n))
	if err := m.launchWith("rms", grid(rows, threads), px, py, uint32(n), float32(1e-6)); err != nil {
		t.Fatal(err)
	}
	y := download[float32](m, py, rows*n)
	for r := range rows {
		sum := 0.0
		for _, v := range x[r*n : (r+1)*n] {
			sum += float64(v) * float64(v)
		}
		scale := 1 / math.Sqrt(sum/n+1e-6)
		for i := range n {
			want := float64(x[r*n+i]) * scale
			if got := float64(y[r*n+i]); math.Abs(got-want) > 1e-5*math.Abs(want)+1e-7 {
				t.Fatalf("row %d column %d: %v, want %v", r, i, got, want)
			}
		}
	}
}

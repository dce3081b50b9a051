package vm_test

import (
	"context"
	"os"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

const arithmetic = `
.visible .entry arith(.param .u64 out, .param .u32 n)
{
	.reg .pred %p; .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	cvt.rn.f32.u32 %f1, %r2;
	mov.f32 %f2, 0f3F800000;
	mov.f32 %f3, 0f3F000000;
	mov.u32 %r3, 0;
	mov.u32 %r4, %r2;
L:
	fma.rn.f32 %f2, %f2, %f3, %f1;
	mul.f32 %f4, %f2, %f3;
	add.f32 %f1, %f4, %f3;
	fma.rn.f32 %f2, %f1, %f3, %f2;
	xor.b32 %r4, %r4, %r3;
	mad.lo.u32 %r4, %r4, 1664525, 1013904223;
	shr.u32 %r5, %r4, 7;
	add.u32 %r4, %r4, %r5;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p, %r3, %r1;
	@%p bra L;
	cvt.rn.f32.u32 %f5, %r4;
	add.f32 %f2, %f2, %f5;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.f32 [%rd1], %f2;
	ret;
}
`

const saxpy = `
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
	.reg .pred %p; .reg .f32 %f<5>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.f32 %f1, [a];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %ctaid.x;
	mov.u32 %r5, %nctaid.x;
	mad.lo.u32 %r6, %r4, %r3, %r2;
	mul.lo.u32 %r7, %r5, %r3;
	setp.ge.u32 %p, %r6, %r1;
	@%p bra END;
L:
	mul.wide.u32 %rd3, %r6, 4;
	add.u64 %rd4, %rd1, %rd3;
	add.u64 %rd5, %rd2, %rd3;
	ld.global.f32 %f2, [%rd4];
	ld.global.f32 %f3, [%rd5];
	fma.rn.f32 %f4, %f1, %f2, %f3;
	st.global.f32 [%rd5], %f4;
	add.u32 %r6, %r6, %r7;
	setp.lt.u32 %p, %r6, %r1;
	@%p bra L;
END:
	ret;
}
`

// matmul multiplies matrices with 16x16 tiles in shared memory. It resembles what nvcc -O3
// generates from the usual source, with the inner loop unrolled.
const matmul = `
.visible .entry matmul(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .pred %p; .reg .f32 %f<40>; .reg .b32 %r<24>; .reg .b64 %rd<16>;
	.shared .align 4 .b8 sa[1024];
	.shared .align 4 .b8 sb[1024];
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %tid.y;
	mov.u32 %r4, %ctaid.x;
	mov.u32 %r5, %ctaid.y;
	shl.b32 %r6, %r5, 4;
	add.u32 %r6, %r6, %r3;       // row
	shl.b32 %r7, %r4, 4;
	add.u32 %r7, %r7, %r2;       // column
	mad.lo.u32 %r8, %r6, %r1, %r2; // index in a
	mad.lo.u32 %r9, %r3, %r1, %r7; // index in b
	shl.b32 %r10, %r1, 4;        // step in b
	mov.u32 %r11, sa;
	mov.u32 %r12, sb;
	shl.b32 %r13, %r3, 6;
	add.u32 %r13, %r13, %r11;    // row of sa
	shl.b32 %r14, %r2, 2;
	add.u32 %r15, %r14, %r12;    // column of sb
	add.u32 %r16, %r13, %r14;    // own element of sa
	shl.b32 %r17, %r3, 6;
	add.u32 %r17, %r17, %r15;    // own element of sb
	mov.f32 %f1, 0f00000000;
	mov.u32 %r18, 0;
L:
	mul.wide.u32 %rd4, %r8, 4;
	add.u64 %rd4, %rd4, %rd1;
	ld.global.f32 %f2, [%rd4];
	st.shared.f32 [%r16], %f2;
	mul.wide.u32 %rd5, %r9, 4;
	add.u64 %rd5, %rd5, %rd2;
	ld.global.f32 %f3, [%rd5];
	st.shared.f32 [%r17], %f3;
	bar.sync 0;
` + matmulInner + `
	bar.sync 0;
	add.u32 %r8, %r8, 16;
	add.u32 %r9, %r9, %r10;
	add.u32 %r18, %r18, 16;
	setp.lt.u32 %p, %r18, %r1;
	@%p bra L;
	mad.lo.u32 %r19, %r6, %r1, %r7;
	mul.wide.u32 %rd6, %r19, 4;
	add.u64 %rd6, %rd6, %rd3;
	st.global.f32 [%rd6], %f1;
	ret;
}
`

const matmulInner = `
	ld.shared.f32 %f4, [%r13]; ld.shared.f32 %f5, [%r15]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+4]; ld.shared.f32 %f7, [%r15+64]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+8]; ld.shared.f32 %f5, [%r15+128]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+12]; ld.shared.f32 %f7, [%r15+192]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+16]; ld.shared.f32 %f5, [%r15+256]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+20]; ld.shared.f32 %f7, [%r15+320]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+24]; ld.shared.f32 %f5, [%r15+384]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+28]; ld.shared.f32 %f7, [%r15+448]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+32]; ld.shared.f32 %f5, [%r15+512]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+36]; ld.shared.f32 %f7, [%r15+576]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+40]; ld.shared.f32 %f5, [%r15+640]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+44]; ld.shared.f32 %f7, [%r15+704]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+48]; ld.shared.f32 %f5, [%r15+768]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+52]; ld.shared.f32 %f7, [%r15+832]; fma.rn.f32 %f1, %f6, %f7, %f1;
	ld.shared.f32 %f4, [%r13+56]; ld.shared.f32 %f5, [%r15+896]; fma.rn.f32 %f1, %f4, %f5, %f1;
	ld.shared.f32 %f6, [%r13+60]; ld.shared.f32 %f7, [%r15+960]; fma.rn.f32 %f1, %f6, %f7, %f1;
`

func measure(b *testing.B, m *machine, name string, o vm.LaunchOptions, args ...any) {
	k, _ := m.mod.Kernel(name)
	o.Params = params(args...)
	var s vm.Stats
	o.Stats = &s
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if err := k.Launch(context.Background(), &o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.LaneInstructions)/b.Elapsed().Seconds()/1e6, "Mlane/s")
}

func BenchmarkArithmetic(b *testing.B) {
	m := load(b, arithmetic)
	o := grid(8, 128)
	o.Workers = 1
	measure(b, m, "arith", o, upload(m, make([]float32, 1024)), uint32(500))
}

func BenchmarkArithmeticOnTwoWorkers(b *testing.B) {
	m := load(b, arithmetic)
	o := grid(8, 128)
	o.Workers = 2
	measure(b, m, "arith", o, upload(m, make([]float32, 1024)), uint32(500))
}

func BenchmarkSaxpy(b *testing.B) {
	const n = 1 << 18
	m := load(b, saxpy)
	o := grid(16, 256)
	o.Workers = 1
	measure(b, m, "saxpy", o, upload(m, make([]float32, n)), upload(m, make([]float32, n)), float32(2), uint32(n))
}

func BenchmarkMatmul256(b *testing.B) {
	const n = 256
	m := load(b, matmul)
	o := vm.LaunchOptions{Grid: vm.Dim3{X: n / 16, Y: n / 16, Z: 1}, Block: vm.Dim3{X: 16, Y: 16, Z: 1}, Workers: 1}
	buf := upload(m, random32(n*n, 1))
	measure(b, m, "matmul", o, buf, upload(m, random32(n*n, 2)), upload(m, make([]float32, n*n)), uint32(n))
}

// BenchmarkMma runs 1000 m16n8k16 products in f16 in one warp. Each product takes 2048
// multiplications.
func BenchmarkMma(b *testing.B) {
	m := load(b, accumulate)
	o := grid(1, 32)
	o.Workers = 1
	measure(b, m, "k", o, upload(m, make([]float32, 32)), uint32(1000))
}

const narrow = `
.visible .entry narrow(.param .u64 out, .param .u32 n)
{
	.reg .pred %p; .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b16 %h<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	cvt.rn.f32.u32 %f1, %r2;
	cvt.rn.f16.f32 %h1, %f1;
	cvt.rn.bf16.f32 %h2, %f1;
	mov.b16 %h3, 0x3800;
	mov.b16 %h4, 0x3F00;
	mov.b32 %r5, {%h1, %h3};
	mov.u32 %r3, 0;
L:
	fma.rn.f16 %h1, %h1, %h3, %h3;
	add.f16 %h5, %h1, %h3;
	mul.f16 %h6, %h5, %h3;
	fma.rn.bf16 %h2, %h2, %h4, %h4;
	cvt.f32.f16 %f2, %h6;
	mul.f32 %f2, %f2, %f1;
	cvt.rn.f16.f32 %h5, %f2;
	cvt.rn.bf16.f32 %h6, %f2;
	max.f16 %h1, %h1, %h5;
	min.bf16 %h2, %h2, %h6;
	fma.rn.f16x2 %r5, %r5, %r5, %r5;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p, %r3, %r1;
	@%p bra L;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	mov.b32 %r4, {%h1, %h2};
	xor.b32 %r4, %r4, %r5;
	st.global.u32 [%rd1], %r4;
	ret;
}
`

// BenchmarkNarrow runs f16 and bf16 arithmetic.
func BenchmarkNarrow(b *testing.B) {
	m := load(b, narrow)
	o := grid(8, 128)
	o.Workers = 1
	measure(b, m, "narrow", o, upload(m, make([]float32, 1024)), uint32(500))
}

// BenchmarkCompile compiles 16 kernels with 100 kB of PTX in total.
func BenchmarkCompile(b *testing.B) {
	text, err := os.ReadFile("testdata/cuda/optimised.ptx")
	if err != nil {
		b.Fatal(err)
	}
	src, err := ptx.Parse("optimised.ptx", text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		mod, err := vm.Compile(vm.CompileOptions{Memory: vm.NewMemory()}, src)
		if err != nil {
			b.Fatal(err)
		}
		if err := mod.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmptyLaunch(b *testing.B) {
	m := load(b, ".visible .entry nothing() { ret; }")
	measure(b, m, "nothing", grid(1, 32))
}

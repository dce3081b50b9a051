package vm_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// accumulate is k(out, n): n products of ones, added up.
const accumulate = `
.visible .entry k(.param .u64 out, .param .u32 n)
{
	.reg .pred %p; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r9, [n];
	mov.b32 %r0, 0x3c003c00;
	mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
L:
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f1, %f2, %f3};
	add.u32 %r9, %r9, -1;
	setp.ne.u32 %p, %r9, 0;
	@%p bra L;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	add.f32 %f0, %f0, %f3;
	st.global.f32 [%rd1], %f0;
	ret;
}`

func TestProductsAllocateNothing(t *testing.T) {
	m := load(t, accumulate)
	out := upload(m, make([]float32, 32))
	run := func(n uint32) float64 {
		return testing.AllocsPerRun(5, func() { m.mustLaunch("k", 32, out, n) })
	}
	// With the race detector, a sync.Pool drops objects occasionally.
	if one, many := run(1), run(2000); many > one+100 {
		t.Errorf("%v allocations with 2000 products, %v with one", many, one)
	}
	if got := download[float32](m, out, 32); got[7] != 2*2000*16 {
		t.Errorf("the sum is %v", got[7])
	}
}

// Lanes that reach a product on different paths wait for each other.
func TestProductsWaitForAllLanes(t *testing.T) {
	got := runThreads(t, 32, `
	mov.b32 %r1, 0x3c003c00;
	setp.lt.u32 %p0, %r0, 11;
	@%p0 bra OTHER;
	mov.b32 %r2, 0x40004000;
	mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r1, %r1}, {%r2}, {%r1, %r1};
	bra END;
OTHER:
	mov.b32 %r2, 0x40004000;
	mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r1, %r1}, {%r2}, {%r1, %r1};
END:
	mov.b32 %d, %r4;`)
	for i, v := range got {
		if v != 0x4c404c40 { // 17 twice
			t.Errorf("lane %d has %#x", i, v)
		}
	}
}

// A product in a warp with missing threads has no defined result, but it completes.
func TestProductsOfPartOfAWarpEnd(t *testing.T) {
	runThreads(t, 20, `
	mov.b32 %d, 0;
	mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r4, %r5}, {%d}, {%d}, {%d, %d};`)
}

const wmmaShared = `
	.shared .align 32 .f32 v[256];
	mov.f32 %f0, 0f3F800000;
	wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [v], {%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0}, 16;
	BARRIER
	mov.u32 %r1, v;
	mad.lo.u32 %r1, %r0, 4, %r1;
	ld.shared.b32 %d, [%r1];`

func TestMatricesInSharedMemoryAreChecked(t *testing.T) {
	all := vm.CheckSharedRaces | vm.CheckUninitialized
	if f := findings(t, all, 32, strings.Replace(wmmaShared, "BARRIER", "bar.warp.sync -1;", 1)); len(f) != 0 {
		t.Errorf("with a barrier: %v", f)
	}
	f := findings(t, all, 32, strings.Replace(wmmaShared, "BARRIER", "", 1))
	if len(f) != 1 || f[0].Kind != vm.FaultRace {
		t.Errorf("without a barrier: %v", f)
	}
	f = findings(t, all, 32, `
	.shared .align 16 .b8 v[512];
	mov.u32 %r1, v;
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d}, [%r1];`)
	if len(f) != 1 || f[0].Kind != vm.FaultUninitialized || !strings.HasPrefix(f[0].Instr, "ldmatrix") {
		t.Errorf("read before any write: %v", f)
	}
}

func TestMatrixFaultsNameTheLane(t *testing.T) {
	for _, c := range []struct {
		name, add string
		kind      vm.FaultKind
	}{
		{"misaligned", "@%p0 add.u32 %r1, %r1, 8;", vm.FaultMisaligned},
		{"outside", "@%p0 add.u32 %r1, %r1, 4096;", vm.FaultIllegal},
	} {
		m := load(t, threadOut(`
	.shared .align 16 .b8 v[512];
	mov.u32 %r1, v;
	setp.eq.u32 %p0, %r0, 5;
	`+c.add+`
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d}, [%r1];`))
		f := faultOf(t, m.launch("k", 32, upload(m, make([]uint32, 32))))
		if f.Kind != c.kind || f.Thread.X != 5 || f.Space != "shared" {
			t.Errorf("%s: %v of thread %v in %s", c.name, f.Kind, f.Thread, f.Space)
		}
	}
}

func TestMatrixFormsThatDoNotExistAreRefused(t *testing.T) {
	for _, form := range []string{
		"mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0}, {%r1}, {%f0,%f1,%f2,%f3}",
		"mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1}, {%f0,%f1,%f2,%f3}",
		"mma.sync.aligned.m16n8k8.row.col.f32.bf16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1}, {%f0,%f1,%f2,%f3}",
		"mma.sync.aligned.m16n8k8.row.col.satfinite.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1}, {%f0,%f1,%f2,%f3}",
		"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2}, {%r0,%r1}, {%r1}, {%f0,%f1,%f2,%f3}",
		"mma.sync.aligned.m8n8k16.row.col.s32.s8.s4.s32 {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1}",
		"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1}",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1,%r2}, {%f0,%f1,%f2,%f3}, %r3, 4",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1,%r2}, {%f0,%f1,%f2,%f3}, %r3, %r4",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1,%r2}, {%f0,%f1,%f2,%f3}",
		"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r1}, {%f0,%f1,%f2,%f3}, %r3, 0",
		"wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1], 16",
		"wmma.load.d.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3}, [%rd1], 16",
		"wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%rd1], 32",
		"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0,%r1,%r2}, [%rd1]",
		"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%rd1]",
		"ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r0}, [%rd1]",
		"movmatrix.sync.aligned.m8n8.b16 %r0, %r1",
	} {
		_, err := tryLoad(t, threadOut("mov.u32 %d, 0;\n"+form+";"))
		name, _, _ := strings.Cut(form, " ")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// BenchmarkMatrixProduct runs one mma of 16x8x16 halves after the other.
func BenchmarkMatrixProduct(b *testing.B) {
	m := load(b, accumulate)
	out := upload(m, make([]float32, 32))
	b.ResetTimer()
	m.mustLaunch("k", 32, out, uint32(b.N))
	b.ReportMetric(float64(b.N)*16*8*16/b.Elapsed().Seconds()/1e6, "Mproducts/s")
}

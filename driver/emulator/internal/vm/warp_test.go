package vm_test

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func TestShuffles(t *testing.T) {
	for _, c := range []struct {
		mode  string
		b, c  uint32
		width uint32
	}{
		{"up", 1, 0, 32}, {"up", 3, 0x1800, 8}, {"down", 2, 31, 32}, {"down", 5, 0x101f, 16}, {"bfly", 1, 31, 32}, {"bfly", 16, 31, 32},
		{"bfly", 4, 0x1c1f, 4}, {"idx", 7, 31, 32}, {"idx", 40, 31, 32}, {"idx", 2, 0x181f, 8},
	} {
		got := runThreads(t, 32, `
	mov.u32 %r1, `+itoa(c.b)+`;
	mov.u32 %r2, `+itoa(c.c)+`;
	mad.lo.u32 %r3, %r0, 3, 100;
	shfl.sync.`+c.mode+`.b32 %r4|%p0, %r3, %r1, %r2, 0xffffffff;
	selp.u32 %r5, 1000, 0, %p0;
	add.u32 %d, %r4, %r5;`)
		for i := range uint32(32) {
			j, ok := shuffleSource(c.mode, i, c.b&31, c.c)
			if !ok {
				j = i
			}
			want := j*3 + 100
			if ok {
				want += 1000
			}
			if got[i] != want {
				t.Errorf("shfl.%s %d, %#x: lane %d got %d, want %d", c.mode, c.b, c.c, i, got[i], want)
			}
		}
	}
}

func itoa(x uint32) string {
	s := ""
	for ; x > 9; x /= 10 {
		s = string(rune('0'+x%10)) + s
	}
	return string(rune('0'+x)) + s
}

// shuffleSource computes the source lane in signed arithmetic within the lane's segment.
func shuffleSource(mode string, lane, b, c uint32) (uint32, bool) {
	seg := c >> 8 & 31
	maxLane, minLane := int(lane&seg|c&31&^seg), int(lane&seg)
	switch mode {
	case "up":
		j := int(lane) - int(b)
		return uint32(j) & 31, j >= maxLane
	case "down":
		j := int(lane) + int(b)
		return uint32(j) & 31, j <= maxLane
	case "bfly":
		j := int(lane ^ b)
		return uint32(j), j <= maxLane
	}
	j := minLane | int(b&^seg)
	return uint32(j), j <= maxLane
}

func TestVotesAndMasks(t *testing.T) {
	got := runThreads(t, 64, `
	and.b32 %r1, %r0, 3;
	setp.eq.u32 %p0, %r1, 1;
	vote.sync.ballot.b32 %r2, %p0, -1;
	vote.sync.any.pred %p1, %p0, -1;
	vote.sync.all.pred %p2, !%p0, -1;
	vote.sync.uni.pred %p3, %p0, -1;
	selp.u32 %r3, 1, 0, %p1;
	selp.u32 %r4, 2, 0, %p2;
	selp.u32 %r5, 4, 0, %p3;
	or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
	mov.u32 %r6, %lanemask_lt;
	and.b32 %r6, %r6, %r2;
	popc.b32 %r6, %r6;
	mad.lo.u32 %d, %r6, 8, %r3;`)
	for i, v := range got {
		before := bits.OnesCount32(0x22222222 & (1<<(i%32) - 1))
		if want := uint32(before*8 + 1); v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestMatchAndRedux(t *testing.T) {
	got := runThreads(t, 32, `
	shr.u32 %r1, %r0, 3;
	match.any.sync.b32 %r2, %r1, -1;
	mov.u64 %rd1, 5;
	match.all.sync.b64 %r3|%p0, %rd1, -1;
	match.all.sync.b32 %r4|%p1, %r1, -1;
	redux.sync.add.u32 %r5, %r0, -1;
	redux.sync.min.s32 %r6, %r0, -1;
	redux.sync.xor.b32 %r7, %r0, -1;
	popc.b32 %r2, %r2;
	selp.u32 %r8, 1, 0, %p0;
	selp.u32 %r9, 2, 0, %p1;
	add.u32 %d, %r5, %r2;
	add.u32 %d, %d, %r6;
	add.u32 %d, %d, %r7;
	add.u32 %d, %d, %r8;
	add.u32 %d, %d, %r9;
	sub.u32 %d, %d, %r3;
	add.u32 %d, %d, %r4;`)
	for i, v := range got {
		// The sum is 496. The match finds 8 equal lanes, min and xor are 0, and all 64-bit values
		// are equal.
		if want := uint32(496) + 8 + 1 + 1; v != want { // subtracting the full mask adds 1
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestPartialMasksInDivergedCode(t *testing.T) {
	got := runThreads(t, 32, `
	setp.lt.u32 %p0, %r0, 16;
	@%p0 bra LOW;
	redux.sync.add.u32 %d, %r0, 0xffff0000;
	bra END;
LOW:
	redux.sync.add.u32 %d, %r0, 0x0000ffff;
	shfl.sync.idx.b32 %d, %d, 3, 31, 0xffff;
END:`)
	for i, v := range got {
		want := uint32(120)
		if i >= 16 {
			want = 376
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestGroupsWithMasksOfTheirOwn(t *testing.T) {
	// match.any returns a mask for each group. After that, the groups run concurrently.
	got := runThreads(t, 32, `
	rem.u32 %r1, %r0, 5;
	match.any.sync.b32 %r2, %r1, -1;
	redux.sync.add.u32 %d, %r0, %r2;`)
	for i, v := range got {
		want := uint32(0)
		for j := range 32 {
			if j%5 == i%5 {
				want += uint32(j)
			}
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestLanesMeetAtDifferentInstructions(t *testing.T) {
	// Both sides of the branch name all lanes in their masks, so they must wait for each other.
	got := runThreads(t, 32, `
	and.b32 %r1, %r0, 1;
	setp.eq.u32 %p0, %r1, 0;
	@%p0 bra EVEN;
	add.u32 %r2, %r0, 100;
	shfl.sync.bfly.b32 %d, %r2, 1, 31, -1;
	add.u32 %d, %d, 1000;
	bra END;
EVEN:
	add.u32 %r3, %r0, 200;
	shfl.sync.bfly.b32 %d, %r3, 1, 31, -1;
	add.u32 %d, %d, 2000;
END:`)
	for i, v := range got {
		want := uint32(i-1) + 200 + 1000
		if i%2 == 0 {
			want = uint32(i+1) + 100 + 2000
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestWarpBarrierOrdersSharedMemory(t *testing.T) {
	got := runThreads(t, 32, `
	.shared .u32 v[32];
	mov.u32 %r1, v;
	mad.lo.u32 %r2, %r0, 4, %r1;
	setp.lt.u32 %p0, %r0, 7;
	@%p0 bra A;
	st.shared.u32 [%r2], %r0;
	bar.warp.sync 0xffffffff;
	bra J;
A:
	mul.lo.u32 %r3, %r0, 10;
	st.shared.u32 [%r2], %r3;
	bar.warp.sync -1;
J:
	sub.u32 %r4, 31, %r0;
	mad.lo.u32 %r4, %r4, 4, %r1;
	ld.shared.u32 %d, [%r4];`)
	for i, v := range got {
		want := uint32(31 - i)
		if want < 7 {
			want *= 10
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestExitedLanesAreNotWaitedFor(t *testing.T) {
	got := runThreads(t, 32, `
	mov.u32 %d, 0;
	setp.ge.u32 %p0, %r0, 20;
	@%p0 bra OUT;
	bra GO;
OUT:
	mov.u32 %d, 5;
	st.global.u32 [%out], %d;
	exit;
GO:
	redux.sync.add.u32 %d, %r0, -1;`)
	for i, v := range got {
		want := uint32(190)
		if i >= 20 {
			want = 5
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestElectOneLane(t *testing.T) {
	got := runThreads(t, 32, `
	setp.lt.u32 %p1, %r0, 4;
	mov.u32 %d, 0;
	@%p1 bra END;
	elect.sync %r1|%p0, 0xfffffff0;
	selp.u32 %r2, 100, 0, %p0;
	add.u32 %d, %r1, %r2;
END:`)
	for i, v := range got {
		want := uint32(4)
		if i < 4 {
			want = 0
		} else if i == 4 {
			want = 104
		}
		if v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestSpecialRegisters(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<16>; .reg .b64 %rd<6>; .reg .pred %p; .reg .v4 .u32 %v;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
	mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
	mad.lo.u32 %r6, %r3, %r5, %r2;
	mad.lo.u32 %r6, %r6, %r4, %r1;
	mov.u32 %r7, %ctaid.y;
	mov.u32 %r8, %nctaid.x;
	mov.u32 %r9, %ctaid.x;
	mad.lo.u32 %r7, %r7, %r8, %r9;
	mad.lo.u32 %r7, %r7, 24, %r6;
	mul.wide.u32 %rd2, %r7, 4;
	add.u64 %rd1, %rd1, %rd2;
	mov.u32 %r10, %laneid;
	mov.u32 %r11, %warpid;
	mad.lo.u32 %r10, %r11, 32, %r10;
	mov.u64 %rd3, %clock64;
	mov.u64 %rd4, %clock64;
	setp.gt.u64 %p, %rd4, %rd3;
	@!%p mov.u32 %r10, 9999;
	mov.u64 %rd5, %globaltimer;
	setp.eq.u64 %p, %rd5, 0;
	@%p mov.u32 %r10, 9998;
	mov.v4.u32 %v, %tid;
	sub.u32 %r12, %v.y, %r2;
	add.u32 %r10, %r10, %r12;
	st.global.u32 [%rd1], %r10;
	ret;
}`)
	out := upload(m, make([]uint32, 24*6))
	o := grid(3, 4)
	o.Grid.Y, o.Block.Y, o.Block.Z = 2, 3, 2
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 24*6) {
		if v != uint32(i%24) {
			t.Fatalf("element %d: %d, want %d", i, v, i%24)
		}
	}
}

// accumulate is a kernel k(out, n) that adds up n products of matrices of ones.
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
	// Under the race detector, sync.Pool drops some objects.
	if one, many := run(1), run(2000); many > one+100 {
		t.Errorf("%v allocations with 2000 products, %v with one", many, one)
	}
	if got := download[float32](m, out, 32); got[7] != 2*2000*16 {
		t.Errorf("the sum is %v", got[7])
	}
}

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
		if v != 0x4c404c40 { // both halves are 17
			t.Errorf("lane %d has %#x", i, v)
		}
	}
}

// A lane that waits for another lane of its warp must let that lane run, even if the turn ends at a
// nanosleep and not at a jump.
func TestNanosleepLetsOtherLanesRun(t *testing.T) {
	for _, sleeps := range []string{"", "nanosleep.u32 10;"} {
		got := runThreads(t, 32, `
	.shared .u32 flag;
	st.shared.u32 [flag], 0;
	bar.sync 0;
	setp.ne.u32 %p0, %r0, 0;
	@%p0 bra SET;
	`+sleeps+`
WAIT:	nanosleep.u32 10;
	ld.volatile.shared.u32 %d, [flag];
	setp.eq.u32 %p1, %d, 0;
	@%p1 bra WAIT;
	bra END;
SET:	mov.u32 %d, 5;
	st.volatile.shared.u32 [flag], %d;
END:`)
		for i, v := range got {
			if v != 5 {
				t.Errorf("thread %d: %d, want 5", i, v)
			}
		}
	}
}

// The elements in a row of A and in a column of B differ within each register, so each product must
// combine elements at the same position.
func TestProductsOfPackedIntegers(t *testing.T) {
	for mma, want := range map[string]uint32{
		"m8n8k16.row.col.s32.s8.s8.s32 {%r4, %r5}, {%r1}, {%r2}, {%r3, %r3}": 4*(4*5+3*6+2*-7+1*8) + 9,
		"m8n8k32.row.col.s32.u4.u4.s32 {%r4, %r5}, {%r1}, {%r2}, {%r3, %r3}": 4*(4*5+3*6+2*9+1*8) + 9,
	} {
		got := runThreads(t, 32, `
	mov.u32 %r1, 0x01020304; mov.u32 %r2, 0x08f90605; mov.u32 %r3, 9;
	mma.sync.aligned.`+mma+`;
	mov.u32 %d, %r4;`)
		for i, v := range got {
			if v != want {
				t.Fatalf("%s: lane %d has %d, want %d", mma, i, v, want)
			}
		}
	}
}

// A matrix product in a partial warp has no defined result, but it must complete.
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

func BenchmarkMatrixProduct(b *testing.B) {
	m := load(b, accumulate)
	out := upload(m, make([]float32, 32))
	b.ResetTimer()
	m.mustLaunch("k", 32, out, uint32(b.N))
	b.ReportMetric(float64(b.N)*16*8*16/b.Elapsed().Seconds()/1e6, "Mproducts/s")
}

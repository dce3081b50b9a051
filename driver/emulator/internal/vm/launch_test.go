package vm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// counted is a kernel with one access of each kind. The accesses at tid*4 are coalesced, and those
// at tid*128 are not.
const counted = `
.visible .entry count(.param .u64 p)
{
	.reg .b64 %rd<6>;
	.reg .b32 %r<6>;
	.reg .pred %p;
	.shared .align 4 .b8 buf[4096];
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd3, %rd1, %rd2;
	mul.wide.u32 %rd4, %r1, 128;
	add.u64 %rd4, %rd1, %rd4;
	ld.global.u32 %r2, [%rd3];
	ld.global.u32 %r3, [%rd4];
	shl.b32 %r4, %r1, 7;
	mov.u32 %r5, buf;
	and.b32 %r4, %r4, 4095;
	add.u32 %r5, %r5, %r4;
	st.shared.u32 [%r5], %r2;
	bar.sync 0;
	setp.lt.u32 %p, %r1, 8;
	@%p bra SOME;
	bra.uni END;
SOME:
	st.global.u32 [%rd3], %r3;
	shfl.sync.idx.b32 %r2, %r3, 0, 31, 255;
END:
	atom.global.add.u32 %r2, [%rd1], 1;
	ret;
}`

// count launches the kernel twice with the given number of blocks of 64 threads, and returns the
// counts.
func count(t *testing.T, blocks uint32, checks vm.Checks) vm.Counts {
	t.Helper()
	m := load(t, counted)
	addr := upload(m, make([]uint32, 64*32))
	stats := vm.Stats{}
	o := grid(int(blocks), 64)
	o.Count, o.Stats, o.Checks = true, &stats, checks
	for range 2 { // the second launch reuses the pooled state of the first
		if err := m.launchWith("count", o, addr); err != nil {
			t.Fatal(err)
		}
	}
	if stats.WarpInstructions == 0 {
		t.Error("no instructions were counted")
	}
	return stats.Counts
}

func TestCountsByOpcode(t *testing.T) {
	for _, checks := range []vm.Checks{0, vm.CheckUninitialized} {
		got := count(t, 3, checks).Opcodes
		const ctas = 6 // two launches of three CTAs
		for op, want := range map[string]vm.OpCount{
			"ld.global.u32":       {Warps: 4 * ctas, Lanes: 128 * ctas},
			"st.shared.u32":       {Warps: 2 * ctas, Lanes: 64 * ctas},
			"bar.sync":            {Warps: 2 * ctas, Lanes: 64 * ctas},
			"bra":                 {Warps: ctas, Lanes: 8 * ctas},
			"bra.uni":             {Warps: 2 * ctas, Lanes: 56 * ctas},
			"shfl.sync.idx.b32":   {Warps: ctas, Lanes: 8 * ctas},
			"atom.global.add.u32": {Warps: 2 * ctas, Lanes: 64 * ctas},
			"ret":                 {Warps: 2 * ctas, Lanes: 64 * ctas},
			"mul.wide.u32":        {Warps: 4 * ctas, Lanes: 128 * ctas},
			"no.such.instruction": {},
			"setp.lt.u32":         {Warps: 2 * ctas, Lanes: 64 * ctas},
			"ld.param.u64":        {Warps: 2 * ctas, Lanes: 64 * ctas},
			"st.global.u32":       {Warps: ctas, Lanes: 8 * ctas},
		} {
			if got[op] != want {
				t.Errorf("checks %d: %s: %+v, want %+v", checks, op, got[op], want)
			}
		}
	}
}

func TestCountsOfMemoryTransactions(t *testing.T) {
	got := count(t, 1, 0)
	const warps = 4 // two launches of two warps
	want := vm.Counts{
		Global: vm.MemoryTraffic{
			Loads:   vm.Traffic{Requests: 2 * warps, Bytes: 256 * warps, Transactions: (4 + 32) * warps, Ideal: 8 * warps, Coalesced: warps},
			Stores:  vm.Traffic{Requests: warps / 2, Bytes: 32 * warps / 2, Transactions: warps / 2, Ideal: warps / 2, Coalesced: warps / 2},
			Atomics: vm.Traffic{Requests: warps, Bytes: 128 * warps, Transactions: warps, Ideal: warps, Coalesced: warps},
		},
		// The 32 lanes access the same bank, because their addresses are 128 bytes apart.
		Shared: vm.MemoryTraffic{Stores: vm.Traffic{Requests: warps, Bytes: 128 * warps, Transactions: 32 * warps, Ideal: warps}},
	}
	if got.Global != want.Global {
		t.Errorf("global memory: %+v\nwant %+v", got.Global, want.Global)
	}
	if got.Shared != want.Shared {
		t.Errorf("shared memory: %+v\nwant %+v", got.Shared, want.Shared)
	}
}

func TestWideSharedAccessesDoNotConflict(t *testing.T) {
	m := load(t, `
.visible .entry wide()
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	.shared .align 16 .b8 buf[1024];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, buf;
	mad.lo.u32 %r3, %r1, 16, %r2;
	mov.u64 %rd0, 0;
	mov.u64 %rd1, 1;
	st.shared.v2.u64 [%r3], {%rd0, %rd1};
	mad.lo.u32 %r3, %r1, 8, %r2;
	st.shared.u64 [%r3], %rd0;
	ret;
}`)
	stats := vm.Stats{}
	o := grid(1, 32)
	o.Count, o.Stats = true, &stats
	if err := m.launchWith("wide", o); err != nil {
		t.Fatal(err)
	}
	want := vm.Traffic{Requests: 2, Bytes: 24 * 32, Transactions: 6, Ideal: 6, Coalesced: 2}
	if got := stats.Counts.Shared.Stores; got != want {
		t.Errorf("stores: %+v, want %+v", got, want)
	}
}

const turnstile = `
	atom.global.add.u32 %r1, [%q0], 1;
	st.global.u32 [%rd1], %r1;`

func arrivals(t *testing.T, seed uint64, blocks, threads int) []uint32 {
	t.Helper()
	c := newChecker(t, 0, turnstile)
	c.run(blocks, threads, func(o *vm.LaunchOptions) { o.Seed, o.Workers = seed, 1 })
	got := download[uint32](c.machine, c.p, blocks*threads)
	seen := make([]bool, len(got))
	for i, v := range got {
		if int(v) >= len(got) || seen[v] {
			t.Fatalf("seed %d: thread %d arrives as number %d of %d, or not alone", seed, i, v, len(got))
		}
		seen[v] = true
	}
	return got
}

func TestSeedsPermuteBlocksAndWarps(t *testing.T) {
	for _, size := range []struct{ blocks, threads int }{{7, 1}, {16, 1}, {33, 1}, {1, 256}, {3, 96}} {
		orders := map[string]bool{}
		for seed := range uint64(20) {
			orders[fmt.Sprint(arrivals(t, seed+1, size.blocks, size.threads))] = true
		}
		if len(orders) < 5 {
			t.Errorf("%d blocks of %d threads: %d orders of 20 seeds", size.blocks, size.threads, len(orders))
		}
	}
}

func TestASeedIsOneSchedule(t *testing.T) {
	for seed := range uint64(4) {
		a, b := fmt.Sprint(arrivals(t, seed, 9, 96)), fmt.Sprint(arrivals(t, seed, 9, 96))
		if a != b {
			t.Errorf("seed %d: %s, then %s", seed, a, b)
		}
	}
}

// lateKernel returns a kernel in which each of 32 threads copies 4 words twice and then adds two
// words from the destination.
func lateKernel(copies, wait string) string {
	return `.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .u32 %me; .reg .u64 %out, %in;
	.shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;
	ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;
	setp.eq.u32 %p1, %me, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
	mul.wide.u32 %rd1, %me, 16; add.u64 %in, %in, %rd1; mov.u32 %r4, s; mad.lo.u32 %r4, %me, 16, %r4;
` + copies + wait + `
	bar.sync 0;
	ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r4+512]; add.u32 %r6, %r6, %r7;
	mul.wide.u32 %rd2, %me, 4; add.u64 %out, %out, %rd2; st.global.u32 [%out], %r6;
	ret;
}`
}

const (
	asyncPair = `
	cp.async.cg.shared.global [%r4], [%in], 16; cp.async.commit_group;
	cp.async.cg.shared.global [%r4+512], [%in+512], 16; cp.async.commit_group;
`
	bulkPair = `
	@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 512, [bar];
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4+512], [%in+512], 512, [bar];
`
	lookOnce   = "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
	lookAlways = "W: " + lookOnce + "@!%p2 bra W;\n"
)

// With a seed, asynchronous copies must be delayed until the kernel waits for them. With at least
// one seed, a kernel that does not wait must read old data.
func TestSeedsMakeCopiesLate(t *testing.T) {
	for _, k := range []lateCase{
		{"cp.async, all groups", asyncPair, "cp.async.wait_group 0;", true},
		{"cp.async, everything", asyncPair, "cp.async.wait_all;", true},
		{"cp.async, one group too few", asyncPair, "cp.async.wait_group 1;", false},
		{"cp.async, not waited for", asyncPair, "", false},
		{"cp.async, told to an object", asyncPair, "cp.async.mbarrier.arrive.shared.b64 [bar];", true},
		{"bulk, until the phase is complete", bulkPair, lookAlways, true},
		{"bulk, looked at once", bulkPair, lookOnce, false},
		{"bulk, not waited for", bulkPair, "", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			if wrong := k.wrongWith(t, 0); wrong != 0 {
				t.Errorf("without a seed %d threads are wrong", wrong)
			}
			found := false
			for seed := range uint64(8) {
				wrong := k.wrongWith(t, seed+1)
				if k.right && wrong != 0 {
					t.Errorf("seed %d: %d threads are wrong", seed+1, wrong)
				}
				found = found || wrong != 0
			}
			if !k.right && !found {
				t.Error("no seed found that the copy was not waited for")
			}
		})
	}
}

type lateCase struct {
	name, copies, wait string
	right              bool // the kernel waits as PTX requires
}

func (k lateCase) wrongWith(t *testing.T, seed uint64) (wrong int) {
	m := load(t, lateKernel(k.copies, k.wait))
	in := make([]uint32, 256)
	for i := range in {
		in[i] = uint32(i + 1)
	}
	out := upload(m, make([]uint32, 32))
	o := grid(1, 32)
	o.Seed = seed
	if err := m.launchWith("k", o, out, upload(m, in)); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 32) {
		if v != in[4*i]+in[128+4*i] {
			wrong++
		}
	}
	return wrong
}

// waits lists kernels for two blocks of 64 threads in one cluster. A wait that never ends must be
// reported as a deadlock. All other waits must end.
var waits = []struct {
	name, body string
	stuck      bool
}{
	{"nobody arrives", `
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;`, true},
	{"the others are at a barrier", `
	setp.ne.u32 %p3, %me, 0; @%p3 bra B;
L:	mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; nanosleep.u32 20; @!%p2 bra L;
B:	bar.sync 0;`, true},
	{"half of a warp arrives elsewhere", `
	setp.lt.u32 %p3, %me, 16; @%p3 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 4;
	@%p3 bra B;
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0, 100; @!%p2 bra L;
B:	bar.warp.sync 0xffffffff; bar.sync 0;`, true},
	{"all lanes ask each other", `
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; vote.sync.all.pred %p3, %p2, 0xffffffff; @!%p3 bra L;`, true},
	{"each block waits for the other", `
	mov.u32 %r5, bar; xor.b32 %r6, %rank, 1; mapa.shared::cluster.u32 %r7, %r5, %r6;
	barrier.cluster.arrive; barrier.cluster.wait;
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
	barrier.cluster.arrive; barrier.cluster.wait;`, true},
	{"one of the cluster is at its barrier", `
	setp.eq.u32 %p3, %rank, 1; @%p3 bra B;
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;
B:	barrier.cluster.arrive; barrier.cluster.wait;`, true},
	{"somebody computes first", `
	setp.ne.u32 %p3, %me, 40; @%p3 bra L;
	mov.u32 %r5, 0;
C:	add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 1000000; @%p2 bra C;
	mbarrier.arrive.shared.b64 _, [bar];
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;`, false},
	{"somebody of the other block computes first", `
	mov.u32 %r5, bar; mapa.shared::cluster.u32 %r7, %r5, 0; mapa.shared::cluster.u32 %r8, %r5, 1;
	barrier.cluster.arrive; barrier.cluster.wait;
	setp.eq.u32 %p3, %rank, 0; @%p3 bra L;
	setp.ne.u32 %p3, %me, 40; @%p3 bra L;
	mov.u32 %r5, 0;
C:	add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 1000000; @%p2 bra C;
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;
	barrier.cluster.arrive; barrier.cluster.wait;`, false},
	{"the program gives up", `
	mov.u32 %r5, 0;
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; add.u32 %r5, %r5, 1; setp.gt.u32 %p3, %r5, 30000; or.pred %p2, %p2, %p3; @!%p2 bra L;`, false},
	{"the program looks elsewhere, too", `
	setp.eq.u32 %p3, %me, 0; @%p3 bra A;
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; ld.volatile.shared.u32 %r5, [s]; setp.eq.u32 %p3, %r5, 7; or.pred %p2, %p2, %p3; @!%p2 bra L;
	bra B;
A:	mov.u32 %r5, 0;
C:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 10000; @%p3 bra C;
	st.volatile.shared.u32 [s], 7;
B:	bar.sync 0;`, false},
	{"a copy comes", `
	setp.ne.u32 %p3, %me, 0; @%p3 bra L;
	mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 256;
	mov.u32 %r5, 256; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], %r5, [bar];
L:	mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;`, false},
}

func TestWaitsForBarrierObjectsThatNeverEnd(t *testing.T) {
	for _, k := range waits {
		for what, change := range map[string]func(*vm.LaunchOptions){
			"": func(*vm.LaunchOptions) {}, "with a seed": func(o *vm.LaunchOptions) { o.Seed = 5 },
			"counted": func(o *vm.LaunchOptions) { o.Count, o.Stats = true, new(vm.Stats) },
			"checked": func(o *vm.LaunchOptions) { o.Checks = vm.CheckSharedRaces | vm.CheckUninitialized },
		} {
			if what != "" && testing.Short() {
				continue // too slow for -short
			}
			t.Run(k.name+" "+what, func(t *testing.T) {
				m := load(t, clusterKernel(k.body))
				o := grid(2, 64)
				o.Cluster = vm.Dim3{X: 2, Y: 1, Z: 1}
				change(&o)
				o.Params = params(upload(m, make([]uint32, 64)))
				o.Device = vm.DeviceInfo{ComputeCapability: 90, SMs: 4}
				kernel, _ := m.mod.Kernel("k")
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				err := kernel.Launch(ctx, &o)
				var f *vm.Fault
				switch {
				case !k.stuck && err != nil:
					t.Error(err)
				case k.stuck && (!errors.As(err, &f) || f.Kind != vm.FaultDeadlock || !strings.Contains(f.Instr, "_wait.parity")):
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// Only blocks of the same cluster can complete each other's mbarrier phases, so the deadlock of a
// single block must be reported.
func TestABlockAloneIsStuckByItself(t *testing.T) {
	m := load(t, clusterKernel(waits[0].body))
	var f *vm.Fault
	if err := m.launchWith("k", grid(2, 64), upload(m, make([]uint32, 64))); !errors.As(err, &f) || f.Kind != vm.FaultDeadlock || f.Line == 0 {
		t.Errorf("got %v", err)
	}
}

func allocateHere(t *testing.T, m *vm.Memory) uint64 {
	t.Helper()
	a, err := m.Alloc(64, vm.AllocOptions{Tag: "cuMemAlloc"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func freeHere(m *vm.Memory, a uint64) { m.Free(a, "cuMemFree") }

func TestReportsSayWhereMemoryWasAllocatedAndFreed(t *testing.T) {
	m := vm.NewMemory()
	a := allocateHere(t, m)
	const made = "allocated at vm_test.allocateHere (launch_test.go:"
	if s := m.Nearest(a + 65); !strings.Contains(s, made) || !strings.Contains(s, " < vm_test.TestReportsSay") {
		t.Errorf("after the end: %s", s)
	}
	freeHere(m, a)
	if s := m.Nearest(a + 8); !strings.Contains(s, made) || !strings.Contains(s, "freed by cuMemFree at vm_test.freeHere (launch_test.go:") {
		t.Errorf("after it was freed: %s", s)
	}
}

func TestAFaultOfACopiesSourceNamesItsLine(t *testing.T) {
	m := load(t, probe(`
	.shared .align 16 .b8 v[64];
	mov.u32 %r1, v;
	cp.async.ca.shared.global [%r1], [%p0], 4;
	cp.async.ca.shared.global [%r1], [%q0], 4;`))
	p := upload(m, []uint32{1})
	f := faultOf(t, m.launch("k", 1, p, uint64(64)))
	if f.Addr != 64 || !strings.Contains(f.Instr, "[%q0]") {
		t.Errorf("%v", f)
	}
}

func TestBulkCopiesAllocateNothing(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 in, .param .u32 n)
{
	.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .u64 %in;
	.shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;
	ld.param.u64 %in, [in]; ld.param.u32 %r1, [n];
	mbarrier.init.shared.b64 [bar], 1; mov.u32 %r2, 0;
L:	mbarrier.arrive.expect_tx.shared.b64 %rd1, [bar], 512;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 512, [bar];
W:	mbarrier.try_wait.shared.b64 %p1, [bar], %rd1; @!%p1 bra W;
	cp.async.bulk.global.shared::cta.bulk_group [%in], [s], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
	add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
	ret;
}`)
	in := upload(m, make([]uint32, 128))
	k, _ := m.mod.Kernel("k")
	allocs := func(n uint32) float64 {
		o := vm.LaunchOptions{Grid: vm.Dim3{X: 1, Y: 1, Z: 1}, Block: vm.Dim3{X: 1, Y: 1, Z: 1}, Params: params(in, n), Workers: 1}
		return testing.AllocsPerRun(20, func() {
			if err := k.Launch(context.Background(), &o); err != nil {
				t.Error(err)
			}
		})
	}
	if few, many := allocs(1), allocs(1000); many > few+5 {
		t.Errorf("%v allocations with one copy, %v with 1000", few, many)
	}
}

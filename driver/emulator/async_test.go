package emulator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// threadCase is a kernel in which each thread stores one word. The emulator and a GPU must store
// the same words. In body, %id and %me hold the thread's index and %in holds the input. body must
// store the result in %r0.
type threadCase struct {
	name    string
	decls   string // declarations of the shared variables
	body    string
	perf    string // performance directives
	target  string // the module's target; sm_90 if empty
	grid    driver.Dim3
	block   uint32
	cluster driver.Dim3
	in      []uint32
	want    func(i int) uint32
	wantIn  func(i int) uint32 // expected input after the run; nil if it must be unchanged
	noGPU   bool               // the text crashes NVIDIA's compiler, and with it the process
}

func (k *threadCase) text() string {
	target := k.target
	if target == "" {
		target = "sm_90"
	}
	return fmt.Sprintf(`.version 8.6
.target %s
.address_size 64
.visible .entry test(.param .u64 out, .param .u64 in) %s
{
	.reg .b32 %%r<32>; .reg .b64 %%rd<32>; .reg .pred %%p<8>; .reg .b16 %%h<4>;
	.reg .u32 %%id, %%me, %%tries, %%rank; .reg .u64 %%out, %%in; .reg .pred %%done;
	%s
	ld.param.u64 %%out, [out]; ld.param.u64 %%in, [in];
	mov.u32 %%me, %%tid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%ctaid.x;
	mov.u32 %%r3, %%ctaid.y; mov.u32 %%r4, %%nctaid.x; mad.lo.u32 %%r2, %%r3, %%r4, %%r2;
	mad.lo.u32 %%id, %%r2, %%r1, %%me;
	mul.wide.u32 %%rd0, %%id, 4; add.u64 %%out, %%out, %%rd0;
	mov.u32 %%rank, %%cluster_ctarank;
	mov.u32 %%r0, 0;
	%s
END:
	st.global.u32 [%%out], %%r0;
	ret;
}`, target, k.perf, k.decls, k.body)
}

// waitFor returns PTX that waits until a phase of an mbarrier object ends. After too many polls,
// the PTX stores 0xdead.
func waitFor(bar string, parity int, label string) string {
	return fmt.Sprintf(`
	mov.u32 %%tries, 0;
W%[3]s:
	mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%done, [%[1]s], %[2]d;
	@%%done bra D%[3]s;
	add.u32 %%tries, %%tries, 1;
	setp.lt.u32 %%done, %%tries, 20000;
	@%%done bra W%[3]s;
	mov.u32 %%r0, 0xdead;
	bra END;
D%[3]s:
`, bar, parity, label)
}

const clusterSync = "\n	barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"

func (k *threadCase) run(t *testing.T, c *driver.Context) {
	m, err := c.LoadModule([]byte(k.text()))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer closing(t, m)
	f, err := m.Kernel("test")
	if err != nil {
		t.Fatal(err)
	}
	n := int(k.grid.Count()) * int(k.block)
	out, in := words(t, c, make([]uint32, n)), words(t, c, append([]uint32{0}, k.in...)[min(1, len(k.in)):])
	defer closing(t, out)
	defer closing(t, in)
	l, err := f.Prepare(driver.LaunchConfig{Grid: k.grid, Block: driver.Dim3{X: k.block, Y: 1, Z: 1}, Cluster: k.cluster}, out, in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, s)
	if err := s.Do(l); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	compareWords(t, "thread", out, n, k.want)
	if k.wantIn != nil {
		compareWords(t, "input", in, len(k.in), k.wantIn)
	}
}

func closing(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func words(t *testing.T, c *driver.Context, v []uint32) *driver.Buffer[uint32] {
	t.Helper()
	b, err := driver.Alloc[uint32](c, len(v))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CopyFrom(v); err != nil {
		t.Fatal(err)
	}
	return b
}

func compareWords(t *testing.T, what string, b *driver.Buffer[uint32], n int, want func(i int) uint32) {
	t.Helper()
	got := make([]uint32, n)
	if err := b.CopyTo(got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if w := want(i); v != w {
			t.Errorf("%s %d: %#x, want %#x", what, i, v, w)
			return
		}
	}
}

// runCases runs each case on the emulator and on the GPU. On the emulator, it also runs the case in
// other orders and with copies delayed as long as possible.
func runCases(t *testing.T, cases []threadCase) {
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			run := func(t *testing.T, c *driver.Context) { k.run(t, c) }
			if k.noGPU {
				gputest.OnEmulator(t, emulator.Config{}, run)
			} else {
				gputest.Each(t, run)
			}
			for seed := range uint64(4) {
				cfg := emulator.Config{Seed: seed + 1}
				gputest.OnEmulator(t, cfg, run)
			}
			k.runChecked(t, 0)
			k.runChecked(t, 3)
		})
	}
}

// runChecked runs the case with the emulator's kernel checks and with a cost model. A correct
// kernel must not cause a finding.
func (k *threadCase) runChecked(t *testing.T, seed uint64) {
	t.Helper()
	e := emulator.New(emulator.Config{
		Seed: seed, CostModel: costs(),
		Check: emulator.CheckBarriers | emulator.CheckSharedRaces | emulator.CheckGlobalRaces | emulator.CheckUninitialized,
	})
	k.run(t, gputest.Context(t, gputest.Driver(t, e)))
	for _, f := range e.Findings() {
		t.Errorf("seed %d: %v", seed, f)
	}
}

func blocks(n uint32) driver.Dim3 { return driver.Dim3{X: n, Y: 1, Z: 1} }

func sequence(n int) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i + 1)
	}
	return v
}

func always(v uint32) func(int) uint32 { return func(int) uint32 { return v } }

func TestFencesHintsAndPauses(t *testing.T) {
	fences := `
	membar.cta; membar.gl; membar.sys; fence.sc.cta; fence.sc.cluster; fence.acq_rel.gpu; fence.acq_rel.sys; fence.acq_rel.cluster;
	fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta; fence.proxy.async.shared::cluster;
	fence.mbarrier_init.release.cluster; fence.proxy.tensormap::generic.release.gpu;
	fence.acquire.cta; fence.release.gpu;
	fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;
	fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
	fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
`
	hints := `
	createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5; createpolicy.fractional.L2::evict_first.b64 %rd2;
	createpolicy.range.L2::evict_last.L2::evict_first.b64 %rd3, [%in], 256, 512;
	prefetch.global.L1 [%in]; prefetch.global.L2 [%in]; prefetch.L2 [%in]; prefetch.global.L2::evict_last [%in]; prefetch.global.L2::evict_normal [%in];
	prefetchu.L1 [%in]; applypriority.global.L2::evict_normal [%in], 128;
	cp.async.bulk.prefetch.L2.global [%in], 256; cp.async.bulk.prefetch.L2.global.L2::cache_hint [%in], 256, %rd1;
	ld.global.L1::evict_first.L2::128B.u32 %r5, [%in]; ld.global.L2::cache_hint.u32 %r6, [%in], %rd1; ld.global.nc.L1::no_allocate.L2::256B.u32 %r7, [%in];
	st.global.L1::no_allocate.u32 [%out], %r5; st.global.L2::cache_hint.u32 [%out], %r5, %rd2; ld.global.L2::64B.v2.u32 {%r8, %r9}, [%in];
	atom.global.add.L2::cache_hint.u32 %r10, [%in], 0, %rd3;
	add.u32 %r0, %r5, %r6; add.u32 %r0, %r0, %r7; add.u32 %r0, %r0, %r9; add.u32 %r0, %r0, %r10;
`
	runCases(t, []threadCase{
		{name: "fences", grid: blocks(1), block: 32, body: fences + "mov.u32 %r0, %id;", want: func(i int) uint32 { return uint32(i) }},
		{name: "hints", grid: blocks(1), block: 32, in: sequence(128), body: hints, want: always(6)},
		{name: "pauses", grid: blocks(1), block: 64, body: `
	nanosleep.u32 20; nanosleep.u32 %me; pmevent 1; pmevent.mask 0x8; griddepcontrol.launch_dependents; griddepcontrol.wait; mov.u32 %r0, 3;`, want: always(3)},
		{name: "registers given back", target: "sm_90a", perf: ".maxntid 128, 1, 1 .minnctapersm 1 .maxnreg 64", grid: blocks(1), block: 128, body: `
	setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r0, 4;`, want: always(4)},
		{name: "discarded and written anew", grid: blocks(1), block: 32, in: make([]uint32, 64), body: `
	setp.eq.u32 %p1, %me, 0; @%p1 discard.global.L2 [%in], 128; bar.sync 0;
	mul.wide.u32 %rd1, %me, 4; add.u64 %rd1, %in, %rd1; st.global.u32 [%rd1], %me; ld.global.u32 %r0, [%rd1];`, want: func(i int) uint32 { return uint32(i) }},
	})
}

func TestFlowThroughRegisters(t *testing.T) {
	runCases(t, []threadCase{
		{name: "one leader of those that are there", grid: blocks(1), block: 64, body: `
	and.b32 %r5, %me, 31;
	setp.lt.u32 %p1, %r5, 5; @%p1 bra OUT;
	elect.sync %r6|%p2, 0xffffffe0;
	selp.u32 %r7, 100, 0, %p2; and.b32 %r8, %r6, 31; add.u32 %r0, %r7, %r8;
OUT:`, want: func(i int) uint32 {
			switch {
			case i%32 < 5:
				return 0
			case i%32 == 5:
				return 105
			}
			return 5
		}},
		{name: "tables of labels", grid: blocks(1), block: 64, body: `
	T: .branchtargets A, B, C;
	rem.u32 %r5, %me, 3;
	brx.idx %r5, T;
A:	mov.u32 %r0, 10; bra OUT;
B:	mov.u32 %r0, 20; bra OUT;
C:	mov.u32 %r0, 30;
OUT:`, want: func(i int) uint32 { return uint32(10 * (i%3 + 1)) }},
		{name: "matches and reductions of lanes", grid: blocks(1), block: 64, body: `
	and.b32 %r5, %me, 31; shr.u32 %r6, %r5, 2;
	match.any.sync.b32 %r7, %r6, 0xffffffff; match.all.sync.b32 %r8|%p1, %r6, 0xffffffff; cvt.u64.u32 %rd1, %r6; match.any.sync.b64 %r9, %rd1, 0xffffffff;
	redux.sync.add.u32 %r10, %r5, 0xffffffff; redux.sync.min.s32 %r11, %r5, 0xffffffff; redux.sync.max.u32 %r12, %r5, 0xffffffff;
	redux.sync.and.b32 %r13, %r7, %r7; redux.sync.or.b32 %r14, %r5, 0xffffffff; redux.sync.xor.b32 %r15, %r5, %r7;
	selp.u32 %r16, 1, 0, %p1;
	xor.b32 %r0, %r7, %r9; add.u32 %r0, %r0, %r8; add.u32 %r0, %r0, %r16; add.u32 %r0, %r0, %r10; add.u32 %r0, %r0, %r11; add.u32 %r0, %r0, %r12;
	add.u32 %r0, %r0, %r13; add.u32 %r0, %r0, %r14; mad.lo.u32 %r0, %r15, 1000, %r0;`, want: func(i int) uint32 {
			return 496 + 31 + uint32(0xf)<<(i%32/4*4) + 31
		}},
		{name: "barriers with counts, halves and reductions", grid: blocks(1), block: 128, decls: ".shared .b32 word[128];\n", body: `
	mul.lo.u32 %r5, %me, 4; mov.u32 %r6, word; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %me;
	shr.u32 %r7, %me, 6; add.u32 %r7, %r7, 1;
	barrier.sync %r7, 64;
	xor.b32 %r8, %r5, 252; mov.u32 %r9, word; add.u32 %r8, %r8, %r9; ld.shared.u32 %r0, [%r8];
	setp.lt.u32 %p1, %me, 40;
	bar.red.popc.u32 %r10, 0, %p1; barrier.red.and.pred %p2, 3, 128, %p1; bar.red.or.pred %p3, 0, !%p1; bar.cta.red.popc.u32 %r11, 4, 128, !%p1;
	selp.u32 %r12, 1000, 0, %p2; selp.u32 %r13, 2000, 0, %p3;
	add.u32 %r0, %r0, %r12; add.u32 %r0, %r0, %r13; mad.lo.u32 %r0, %r10, 10000, %r0; mad.lo.u32 %r0, %r11, 1000000, %r0;
	setp.lt.u32 %p4, %me, 64; @%p4 barrier.arrive 5, 128; @!%p4 barrier.sync 5, 128;`, want: func(i int) uint32 { return uint32(88402000+i) - uint32(i) + uint32(i^63) }},
	})
}

func TestBulkCopies(t *testing.T) {
	const load = `
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 256, [bar];
` // by thread 0
	const own = `mul.lo.u32 %r5, %me, 4; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
`
	const drain = `
	fence.proxy.async.shared::cta; bar.sync 0;
	@!%p1 bra STORED;
	%s
	cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
STORED:
	mov.u32 %r0, %me;`
	stored := func(copy string) string { return replaceFirst(drain, "%s", copy) }
	runCases(t, []threadCase{
		{name: "to shared memory", decls: oneBarrier, grid: blocks(1), block: 64, in: sequence(64), body: initBarrier("1") + load +
			waitFor("bar", 0, "a") + own + "ld.shared.u32 %r0, [%r6];", want: func(i int) uint32 { return uint32(i + 1) }},
		{name: "to shared memory of the block, with a policy", decls: oneBarrier, grid: blocks(1), block: 64, in: sequence(64), body: initBarrier("1") + `
	createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
	cp.async.bulk.prefetch.L2.global [%in], 256;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
	@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [%in], 256, [bar], %rd5;
` + waitFor("bar", 0, "a") + own + "ld.shared.u32 %r0, [%r6];", want: func(i int) uint32 { return uint32(i + 1) }},
		{name: "to global memory", decls: oneBarrier, grid: blocks(1), block: 64, in: make([]uint32, 64),
			body: "setp.eq.u32 %p1, %me, 0;" + own + "add.u32 %r7, %me, 500; st.shared.u32 [%r6], %r7;" +
				stored("cp.async.bulk.global.shared::cta.bulk_group [%in], [s], 256;"),
			want: func(i int) uint32 { return uint32(i) }, wantIn: func(i int) uint32 { return uint32(i) + 500 }},
		{name: "added to global memory", decls: oneBarrier, grid: blocks(1), block: 64, in: sequence(64),
			body: "setp.eq.u32 %p1, %me, 0;" + own + "add.u32 %r7, %me, 500; st.shared.u32 [%r6], %r7;" +
				stored("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in], [s], 256;"),
			want: func(i int) uint32 { return uint32(i) }, wantIn: func(i int) uint32 { return uint32(2*i) + 501 }},
		{name: "the least signed of 64 bits", decls: oneBarrier, grid: blocks(1), block: 64, in: sequence(64),
			body: "setp.eq.u32 %p1, %me, 0;" + own + "st.shared.u32 [%r6], -1;" +
				stored("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%in], [s], 256;"),
			want: func(i int) uint32 { return uint32(i) }, wantIn: always(0xffffffff)},
		{name: "halves added without flushing", decls: oneBarrier, grid: blocks(1), block: 64, in: fillWords(64, 0x00013c00),
			body: "setp.eq.u32 %p1, %me, 0;" + own + "st.shared.u32 [%r6], 0x00014000;" +
				stored("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%in], [s], 256;"),
			want: func(i int) uint32 { return uint32(i) }, wantIn: always(0x00024200)},
		{name: "singles added", decls: oneBarrier, grid: blocks(1), block: 64, in: fillWords(64, 0x3f800000),
			body: "setp.eq.u32 %p1, %me, 0;" + own + "st.shared.u32 [%r6], 0x40000000;" +
				stored("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%in], [s], 256;"),
			want: func(i int) uint32 { return uint32(i) }, wantIn: always(0x40400000)},
	})
}

func TestBulkCopiesInAClusterReachTheOtherBlocks(t *testing.T) {
	// ready initializes the block's mbarrier object to wait for 256 bytes.
	const ready = `
	setp.eq.u32 %p1, %me, 0;
	@%p1 mbarrier.init.shared::cta.b64 [bar], 1;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
	fence.mbarrier_init.release.cluster;
	mul.lo.u32 %r5, %me, 4; mov.u32 %r6, s; add.u32 %r6, %r6, %r5; mov.u32 %r9, bar; mov.u32 %r10, s;
	mad.lo.u32 %r7, %rank, 1000, %me; st.shared.u32 [%r6], %r7; st.shared.u32 [%r6+256], %r7;
	fence.proxy.async;
	xor.b32 %r8, %rank, 1;
	mapa.shared::cluster.u32 %r11, %r9, %r8;
	mapa.shared::cluster.u32 %r12, %r10, %r8;
` + clusterSync
	pair := blocks(2)
	runCases(t, []threadCase{
		{name: "copied", decls: oneBarrier, grid: blocks(4), block: 64, cluster: pair, body: ready + `
	@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [s+256], 256, [%r11];` + waitFor("bar", 0, "a") + `
	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 { return uint32(i/64%2^1)*1000 + uint32(i%64) }},
		{name: "added", decls: oneBarrier, grid: blocks(4), block: 64, cluster: pair, body: ready + `
	@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r12], [s+256], 256, [%r11];` + waitFor("bar", 0, "a") + `
	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 { return 1000 + 2*uint32(i%64) }},
		{name: "to all blocks of a mask", decls: oneBarrier, grid: blocks(4), block: 64, cluster: blocks(4), in: sequence(64), body: ready + `
	mov.u16 %h0, 11; setp.eq.and.u32 %p2, %rank, 1, %p1; setp.eq.u32 %p3, %rank, 2;
	@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%in], 256, [bar], %h0;
	@%p3 bra LAST;` + waitFor("bar", 0, "a") + `
LAST:	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 {
			if i/64 == 2 {
				return 2000 + uint32(i%64)
			}
			return uint32(i%64) + 1
		}},
		{name: "stored by st.async", decls: oneBarrier, grid: blocks(2), block: 64, cluster: pair, body: ready + `
	add.u32 %r13, %r12, %r5; add.u32 %r7, %r7, 5;
	st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r13], %r7, [%r11];` + waitFor("bar", 0, "a") + `
	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 { return uint32(i/64^1)*1000 + uint32(i%64) + 5 }},
		{name: "stored in vectors", decls: oneBarrier, grid: blocks(2), block: 64, cluster: pair, body: ready + `
	setp.lt.u32 %p2, %me, 16; mul.lo.u32 %r14, %me, 16; add.u32 %r13, %r12, %r14;
	@%p2 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r13], {%me, %rank, %r7, %r5}, [%r11];` + waitFor("bar", 0, "a") + `
	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 {
			from, rank := uint32(i%64/4), uint32(i/64^1)
			return []uint32{from, rank, rank*1000 + from, from * 4}[i%4]
		}},
		{name: "reduced by red.async", decls: oneBarrier, grid: blocks(2), block: 64, cluster: pair, body: ready + `
	and.b32 %r14, %me, 3; mul.lo.u32 %r14, %r14, 4; add.u32 %r13, %r12, %r14;
	red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r13], 1, [%r11];` + waitFor("bar", 0, "a") + `
	ld.shared.u32 %r0, [%r6];` + clusterSync, want: func(i int) uint32 {
			v := uint32(i/64)*1000 + uint32(i%64)
			if i%64 < 4 {
				v += 16
			}
			return v
		}},
	})
}

func replaceFirst(s, old, new string) string { return strings.Replace(s, old, new, 1) }

func fillWords(n int, v uint32) []uint32 { return slices.Repeat([]uint32{v}, n) }

const oneBarrier = ".shared .align 8 .b64 bar; .shared .align 16 .b8 s[1024];\n"

func initBarrier(count string) string {
	return "setp.eq.u32 %p1, %me, 0; @%p1 mbarrier.init.shared::cta.b64 [bar], " + count + "; bar.sync 0;\n" +
		"fence.mbarrier_init.release.cluster;\n"
}

func TestBarrierObjectsInSharedMemory(t *testing.T) {
	runCases(t, []threadCase{
		{name: "arrivals of all threads end a phase", decls: oneBarrier, grid: blocks(2), block: 96, body: initBarrier("96") + `
	mul.lo.u32 %r5, %me, 4; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
	st.shared.u32 [%r6], %me;
	mbarrier.arrive.shared::cta.b64 %rd1, [bar];
L:	mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd1;
	@!%p2 bra L;
	add.u32 %r7, %me, 40; rem.u32 %r7, %r7, 96; mul.lo.u32 %r7, %r7, 4; mov.u32 %r8, s; add.u32 %r7, %r7, %r8;
	ld.shared.u32 %r0, [%r7];`, want: func(i int) uint32 { return uint32(i%96+40) % 96 }},

		{name: "the state tells the count before the arrival", decls: oneBarrier, grid: blocks(1), block: 1, body: `
	mbarrier.init.shared.b64 [bar], 10;
	mbarrier.arrive.noComplete.release.cta.shared.b64 %rd1, [bar], 3;
	mbarrier.pending_count.b64 %r1, %rd1;
	mbarrier.arrive.noComplete.shared.b64 %rd2, [bar], 2;
	mbarrier.pending_count.b64 %r2, %rd2;
	mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [bar], 4;
	mbarrier.pending_count.b64 %r3, %rd3;
	mad.lo.u32 %r0, %r1, 100, %r2; mad.lo.u32 %r0, %r0, 100, %r3;`, want: always(100705)},

		// ptxas 12.4 and driver 580 crash on this text if they compile for sm_90. For sm_80,
		// they accept it.
		{name: "a state without a barrier is a number", decls: oneBarrier, grid: blocks(1), block: 1, noGPU: true, body: `
	mbarrier.pending_count.b64 %r0, 289;`, want: always(289)},

		{name: "dropped arrivals are missing from the next phase on", decls: oneBarrier, grid: blocks(1), block: 1, body: `
	mbarrier.init.shared.b64 [bar], 4;
	mbarrier.arrive_drop.shared.b64 %rd1, [bar], 3;
	mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
	mbarrier.arrive.shared.b64 %rd2, [bar];
	mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
	mbarrier.arrive.shared.b64 %rd2, [bar];
	mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1;
	mbarrier.test_wait.shared.b64 %p4, [bar], %rd2;
	selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 10, 0, %p2; selp.u32 %r3, 100, 0, %p3; selp.u32 %r4, 1000, 0, %p4;
	add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3; add.u32 %r0, %r0, %r4;
	mbarrier.inval.shared.b64 [bar];`, want: always(1110)},

		{name: "the phase before the first has parity 1", decls: oneBarrier, grid: blocks(1), block: 1, body: `
	mbarrier.init.shared.b64 [bar], 1;
	mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;
	mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
	mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0, 100;
	selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 10, 0, %p2; selp.u32 %r3, 100, 0, %p3;
	add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3;`, want: always(1)},

		{name: "a phase waits for bytes, which may come first", decls: oneBarrier, grid: blocks(1), block: 1, body: `
	mbarrier.init.shared.b64 [bar], 2;
	mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 24;
	mbarrier.arrive.shared.b64 _, [bar];
	mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 20;
	mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [bar], 5;
	mbarrier.test_wait.shared.b64 %p1, [bar], %rd1;
	mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 1;
	mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [bar], %rd1;
	selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 10, 0, %p2;
	add.u32 %r0, %r1, %r2;`, want: always(10)},

		{name: "through generic addresses", decls: oneBarrier, grid: blocks(1), block: 32, body: `
	mov.u64 %rd1, bar; cvta.shared.u64 %rd1, %rd1;
	setp.eq.u32 %p1, %me, 0;
	@%p1 mbarrier.init.b64 [%rd1], 32;
	bar.sync 0;
	mbarrier.arrive.b64 %rd2, [%rd1];
L:	mbarrier.try_wait.b64 %p2, [%rd1], %rd2;
	@!%p2 bra L;
	mbarrier.test_wait.parity.b64 %p3, [%rd1], 0;
	selp.u32 %r0, 7, 8, %p3;`, want: always(7)},

		{name: "copies of 16 bytes arrive", decls: oneBarrier, grid: blocks(1), block: 64, in: sequence(256), body: initBarrier("64") + `
	mul.lo.u32 %r5, %me, 16; cvt.u64.u32 %rd2, %r5; add.u64 %rd2, %in, %rd2;
	mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
	cp.async.ca.shared.global [%r6], [%rd2], 16;
	cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];` + waitFor("bar", 0, "a") + `
	xor.b32 %r7, %me, 63; mul.lo.u32 %r7, %r7, 16; mov.u32 %r8, s; add.u32 %r7, %r7, %r8;
	ld.shared.u32 %r0, [%r7+4];`, want: func(i int) uint32 { return uint32(4*(63-i) + 2) }},

		{name: "copies that raise the count first", decls: oneBarrier, grid: blocks(1), block: 32, in: sequence(32), body: initBarrier("32") + `
	mul.lo.u32 %r5, %me, 4; cvt.u64.u32 %rd2, %r5; add.u64 %rd2, %in, %rd2;
	mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
	cp.async.ca.shared.global [%r6], [%rd2], 4;
	cp.async.mbarrier.arrive.shared::cta.b64 [bar];
	mbarrier.arrive.shared.b64 _, [bar];` + waitFor("bar", 0, "a") + `
	xor.b32 %r7, %me, 31; mul.lo.u32 %r7, %r7, 4; mov.u32 %r8, s; add.u32 %r7, %r7, %r8;
	ld.shared.u32 %r0, [%r7];`, want: func(i int) uint32 { return uint32(32 - i) }},
	})
}

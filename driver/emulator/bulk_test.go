package emulator_test

import (
	"slices"
	"strings"
	"testing"
)

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
	// Each block makes its barrier object wait for 256 bytes.
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

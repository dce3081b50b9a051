package emulator_test

import "testing"

// Instructions that only order, hint or wait are accepted and do not change the kernel's results.
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

package emulator_test

import "testing"

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

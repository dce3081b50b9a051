package vm_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// A kernel with an access of each kind: tid*4 is coalesced, tid*128 is not.
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

// count launches the kernel with 64 threads and as many blocks.
func count(t *testing.T, blocks uint32, checks vm.Checks) vm.Counts {
	t.Helper()
	m := load(t, counted)
	addr := upload(m, make([]uint32, 64*32))
	stats := vm.Stats{}
	o := grid(int(blocks), 64)
	o.Count, o.Stats, o.Checks = true, &stats, checks
	for range 2 { // the second runs with what the first left in the pools
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
		const ctas = 6 // two launches of three
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
	const warps = 4 // two launches of two
	want := vm.Counts{
		Global: vm.MemoryTraffic{
			Loads:   vm.Traffic{Requests: 2 * warps, Bytes: 256 * warps, Transactions: (4 + 32) * warps, Ideal: 8 * warps, Coalesced: warps},
			Stores:  vm.Traffic{Requests: warps / 2, Bytes: 32 * warps / 2, Transactions: warps / 2, Ideal: warps / 2, Coalesced: warps / 2},
			Atomics: vm.Traffic{Requests: warps, Bytes: 128 * warps, Transactions: warps, Ideal: warps, Coalesced: warps},
		},
		// 32 lanes 128 bytes apart are in one bank.
		Shared: vm.MemoryTraffic{Stores: vm.Traffic{Requests: warps, Bytes: 128 * warps, Transactions: 32 * warps, Ideal: warps}},
	}
	if got.Global != want.Global {
		t.Errorf("global memory: %+v\nwant %+v", got.Global, want.Global)
	}
	if got.Shared != want.Shared {
		t.Errorf("shared memory: %+v\nwant %+v", got.Shared, want.Shared)
	}
}

// Dense accesses of 8 and 16 bytes have no conflicts.
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

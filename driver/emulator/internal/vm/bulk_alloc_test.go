package vm_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// A copy and the wait for it allocate nothing, however often they run.
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

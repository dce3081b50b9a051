package vm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// waits are kernels of two blocks of 64 threads, in a cluster of two. A wait that never ends is
// reported as a deadlock. A wait that may end does end.
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
				continue // slow, and in the run of all
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

// Blocks that are not in clusters do not wait for each other's objects.
func TestABlockAloneIsStuckByItself(t *testing.T) {
	m := load(t, clusterKernel(waits[0].body))
	var f *vm.Fault
	if err := m.launchWith("k", grid(2, 64), upload(m, make([]uint32, 64))); !errors.As(err, &f) || f.Kind != vm.FaultDeadlock || f.Line == 0 {
		t.Errorf("got %v", err)
	}
}

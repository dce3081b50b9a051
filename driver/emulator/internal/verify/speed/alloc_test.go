//go:build !race && !purecuda_syscall

package speed_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// loops is a kernel that runs n iterations of each kind of work.
const loops = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry loops(.param .u64 out, .param .u32 n)
{
	.reg .pred %p, %q; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
	.shared .align 4 .b8 sm[256];
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	shl.b32 %r4, %r2, 2;
	mov.u32 %r5, sm;
	add.u32 %r4, %r4, %r5;
	mov.u32 %r3, 0;
	mov.f64 %d1, 0d3FF5555555555555;
L:
	ld.global.u32 %r6, [%rd1];
	add.u32 %r6, %r6, 1;
	st.shared.u32 [%r4], %r6;
	bar.sync 0;
	atom.shared.add.u32 %r7, [%r4], 1;
	shfl.sync.bfly.b32 %r7, %r7, 1, 31, -1;
	and.b32 %r7, %r2, 1;
	setp.eq.u32 %q, %r7, 0;
	@%q bra EVEN;
	div.rz.f64 %d2, %d1, 0d4008000000000000;
	fma.rm.f64 %d3, %d2, %d2, %d1;
	shfl.sync.bfly.b32 %r7, %r6, 2, 31, -1;
	bra BOTH;
EVEN:
	sqrt.rp.f64 %d2, %d1;
	add.rz.f64 %d3, %d2, %d1;
	shfl.sync.bfly.b32 %r7, %r6, 2, 31, -1;
BOTH:
	st.global.u32 [%rd1], %r6;
	bar.sync 0;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p, %r3, %r1;
	@%p bra L;
	ret;
}
`

func TestLaunchesAllocateTheSameHoweverLongTheyAre(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{Workers: 1}, func(t *testing.T, c *driver.Context) {
		m, err := c.LoadModule([]byte(loops))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		k, err := m.Kernel("loops")
		if err != nil {
			t.Fatal(err)
		}
		out, err := driver.Alloc[uint32](c, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		s, err := c.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		allocated := func(rounds uint32) float64 {
			l, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(4), Block: driver.D1(64)}, out, rounds)
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(20, func() {
				if err := s.Do(l); err != nil {
					t.Fatal(err)
				}
				if err := s.Wait(context.Background()); err != nil {
					t.Fatal(err)
				}
			})
		}
		// A launch needs nine to eleven allocations: for the launch itself, the event that the wait
		// records, the queue entries for both, and the goroutine that runs them. That goroutine may
		// have to restart, and a garbage collection may empty the pools. The test does not run
		// under the race detector, which drops pooled objects at random, nor with purego.SyscallN,
		// whose calls allocate.
		short, long := allocated(1), allocated(300)
		if short > 12 || long > short+20 {
			t.Errorf("a launch and a wait for it allocate %v times, 300 times as much work in it %v times", short, long)
		}
	})
}

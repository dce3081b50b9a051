package vm_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// turnstile gives each thread a number in the order of arrival.
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

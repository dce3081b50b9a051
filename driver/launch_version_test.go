package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

const versionPTX = `
.version 7.0
.target sm_52
.address_size 64
.visible .entry fill(.param .u64 p, .param .u64 q, .param .u32 v) { ret; }
.visible .entry other(.param .u64 p, .param .u64 q, .param .u32 v) { ret; }
`

// Launches have the same AccessesVersion only if they are of one kernel and refer
// to the same memory in the same way.
func TestVersionsOfAccesses(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule([]byte(versionPTX)))(t)
		defer m.Close()
		fill, other := must(m.Kernel("fill"))(t), must(m.Kernel("other"))(t)
		a, b := must(driver.Alloc[uint32](c, 8))(t), must(driver.Alloc[uint32](c, 8))(t)
		defer a.Close()
		defer b.Close()
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		launch := func(k *driver.Kernel, args ...any) *driver.Launch {
			return must(k.Prepare(cfg, append(args, uint32(1))...))(t)
		}

		first, second := launch(fill, a, b), launch(fill, a, b)
		noError(t, driver.SetArg(second, 2, uint32(7)))
		if uint64(first.Block().Accesses) != uint64(second.Block().Accesses) {
			t.Error("launches of the same memory have two versions")
		}
		clone := first.Clone()
		all := []*driver.Launch{first, clone, launch(fill, b, a), launch(other, a, b), launch(fill, a, driver.In(b)),
			launch(fill, a.View(0, 4), b), launch(fill, a, driver.CUdeviceptr(0))}
		differ := func(when string) {
			t.Helper()
			seen := map[uint64]int{}
			for i, l := range all {
				if was, there := seen[uint64(l.Block().Accesses)]; there {
					t.Errorf("%s, launches %d and %d have the same version", when, was, i)
				}
				seen[uint64(l.Block().Accesses)] = i
			}
		}
		differ("as they were prepared")
		for range 3 { // each takes its own way from what may have been one
			noError(t, driver.SetArg(first, 0, b))
			noError(t, driver.SetArg(second, 1, a))
			noError(t, driver.SetArg(clone, 0, b.View(0, 2)))
			all = append(all[:7], second)
			differ("after other memory")
			noError(t, driver.SetArg(first, 0, a))
			noError(t, driver.SetArg(second, 1, b))
			noError(t, driver.SetArg(clone, 0, a.View(1, 2)))
			differ("after other memory again")
		}
		again := must(driver.Alloc[uint32](c, 8))(t)
		l := launch(fill, again, b)
		noError(t, again.Close())
		if last := launch(fill, a, b); uint64(last.Block().Accesses) == uint64(l.Block().Accesses) {
			t.Error("memory that is closed and memory that is open have one version")
		}
	})
}

package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Launches of graphs that leave memory are followed without allocating on the
// host.
func TestLaunchOfAGraphWithMemoryAllocatesNothingOnTheHost(t *testing.T) {
	t.Run("null", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func launchWithMemory(k *kit) {
	k.Helper()
	g, b := k.leaving(1)
	auto := k.exec(g, graph.WithAutoFree())
	k.none("Launch", func() { k.ok(auto.Launch(k.s)) })
	k.wait(k.s)
	k.none("FreeGraphMemory and Launch", func() {
		k.ok(k.s.FreeGraphMemory(b))
		k.ok(auto.Launch(k.s))
	})
	k.wait(k.s)
}

// Copies of no bytes do nothing, and those that do not fit say both sizes.
func TestCopiesOfTheCacheSayTheirSizes(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b, none := k.from(c, k.s, 4), k.from(c, k.s, 0)
		k.ok(none.CopyFrom(nil))
		k.ok(none.CopyTo([]uint32{}))
		empty, err := driver.CopyDevice[uint32](none, none)
		k.ok(err)
		k.ok(k.s.Do(empty))
		k.expectReason("copy in", b.CopyFrom(make([]uint32, 3)), driver.CUDA_ERROR_INVALID_VALUE, "3 elements", "12 bytes", "16 bytes")
		k.expectReason("copy out", b.CopyTo(make([]uint32, 5)), driver.CUDA_ERROR_INVALID_VALUE, "5 elements", "20 bytes", "16 bytes")
		_, err = driver.CopyDevice[uint32](none, b)
		k.expectReason("copy within", err, driver.CUDA_ERROR_INVALID_VALUE, "0 bytes", "16 bytes")
		k.ok(b.CopyFrom([]uint32{1, 2, 3, 4}))
		if got := fetch(k, b.View(1, 3)); got[0] != 2 || got[1] != 3 {
			t.Errorf("got %v", got)
		}
	})
}

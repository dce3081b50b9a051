package graph_test

import (
	"testing"

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

package serve_test

import (
	"errors"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/serve"
)

// bytesOfShape is the memory that affine needs for n elements: the page-locked input, its device
// memory, and the result.
func bytesOfShape(n int) uint64 { return uint64(3 * 4 * n) }

// Each replica must keep as many shapes as fit in its share of the memory. The Stats must show the
// sums during a call, and must keep the counts of replicas that were created again.
func TestMemoryLimitAndCountsOfReplicas(t *testing.T) {
	each(t, func(k *kit) {
		const replicas = 2
		p := k.pool(k.greedy, serve.WithReplicas(replicas), serve.WithMemory(replicas*bytesOfShape(12)+1))
		is := func(want serve.Stats) {
			k.Helper()
			s := p.Stats()
			got := serve.Stats{Replayed: s.Replayed, Recorded: s.Recorded, Evicted: s.Evicted, Variants: s.Variants, MemoryBytes: s.MemoryBytes}
			if got != want {
				k.Errorf("did %+v, want %+v", got, want)
			}
		}
		is(serve.Stats{Recorded: 2, Variants: 2, MemoryBytes: 2 * bytesOfShape(8)})
		k.OK(p.Prepare(ramp(4, 0)))
		is(serve.Stats{Recorded: 4, Variants: 4, MemoryBytes: 2 * bytesOfShape(12)})
		k.OK(p.Call(background, ramp(8, 5), func(output) error {
			is(serve.Stats{Replayed: 1, Recorded: 4, Variants: 4, MemoryBytes: 2 * bytesOfShape(12)})
			return call(background, p, ramp(3, 0)) // uses the other replica and evicts shape 8
		}))
		is(serve.Stats{Replayed: 2, Recorded: 5, Evicted: 1, Variants: 4, MemoryBytes: bytesOfShape(12) + bytesOfShape(7)})
		if err := call(background, p, ramp(13, 0)); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("a shape above the limit: %v", err)
		}
		if s := p.Stats(); s.Rebuilt != 0 || s.Failed != 1 { // no rebuild, because the limit rejected the call, not the driver
			t.Errorf("did %+v", s)
		}
		k.None("Stats", func() { p.Stats() })
		k.OK(p.Close())
		is(serve.Stats{Replayed: 2, Recorded: 6, Evicted: 1})
	})
}

func TestCountsOfAReplicaThatIsCreatedAgain(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.greedy)
		k.OK(call(background, p, ramp(8, 0)))
		if err := call(background, p, ramp(1, 0)); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("got %v", err)
		}
		k.OK(call(background, p, ramp(8, 0)))
		if s := p.Stats(); s.Rebuilt != 1 || s.Replayed != 2 || s.Recorded != 3 || s.Variants != 1 || s.MemoryBytes != bytesOfShape(8) {
			t.Errorf("did %+v", s)
		}
	})
}

// A pool that may grow must not exceed its limit after it has grown.
func TestMemoryLimitOfAPoolThatGrows(t *testing.T) {
	each(t, func(k *kit) {
		_, err := serve.New(k.C, k.affine, [][]uint32{ramp(8, 0)}, serve.WithGrowth(3, 0), serve.WithMemory(3*bytesOfShape(8)-1))
		if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("got %v", err)
		}
		k.pool(k.affine, serve.WithGrowth(3, 0), serve.WithMemory(3*bytesOfShape(8)))
	})
}

// Close must end a Prepare that waits for a replica, while a call still holds the replica.
func TestCloseEndsAPrepareThatWaits(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine)
		closed := make(chan error, 1)
		k.OK(p.Call(background, ramp(8, 0), func(output) error {
			prepared := make(chan error, 1)
			go func() { prepared <- p.Prepare(ramp(3, 0)) }()
			k.Eventually("Prepare to wait", p.Claimed)
			go func() { closed <- p.Close() }()
			select {
			case err := <-prepared:
				if !errors.Is(err, driver.ErrClosed) {
					t.Errorf("got %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("Prepare still waits")
			}
			return nil
		}))
		k.OK(<-closed)
	})
}

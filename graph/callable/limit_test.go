package callable_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/gputest"
)

// bytes returns the memory that affine needs for n elements: the page-locked input, its device
// memory, and the result. The device memory does not count if it is in an arena.
func (k *kit) bytes(n int) uint64 {
	if len(k.options) > 0 {
		return uint64(2 * 4 * n)
	}
	return uint64(3 * 4 * n)
}

func (k *kit) holds(c *affineCallable, variants int, bytes, evicted uint64) {
	k.Helper()
	if s := c.Stats(); s.Variants != variants || s.MemoryBytes != bytes || s.Evicted != evicted {
		k.Errorf("%d variants with %d bytes, %d evicted, want %d, %d, %d", s.Variants, s.MemoryBytes, s.Evicted, variants, bytes, evicted)
	}
}

func TestMemoryLimitClosesTheLeastRecentlyCalledVariants(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, nil, callable.WithMemory(k.bytes(10)))
		call := func(n int) {
			k.Helper()
			k.answers(c, affine{ramp(n, 7), 2, 3})
		}
		call(4)
		call(5)
		k.holds(c, 2, k.bytes(9), 0)
		call(4)
		call(1)
		k.holds(c, 3, k.bytes(10), 0) // exactly the limit
		call(2)                       // evicts 5
		k.holds(c, 3, k.bytes(7), 1)
		call(9) // evicts 4 and 2, but not 1
		k.holds(c, 1, k.bytes(9), 4)
	})
}

// A shape larger than the limit must be rejected before it allocates, and other shapes must not be
// evicted.
func TestShapeAboveTheMemoryLimitIsRefused(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(4, 0), 1, 1}}, callable.WithMemory(k.bytes(10)))
		for _, n := range []int{11, 32, 5000} {
			_, err := c.Call(background, affine{make([]uint32, n), 1, 1})
			if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), "WithMemory") {
				t.Errorf("%d elements: %v", n, err)
			}
			k.holds(c, 1, k.bytes(4), 0)
		}
		k.answers(c, affine{ramp(4, 2), 3, 1})
		k.answers(c, affine{ramp(6, 2), 3, 1})
		k.holds(c, 2, k.bytes(10), 0)
		_, err := created(k, k.affine, []affine{{ramp(4, 0), 1, 1}}, callable.WithMemory(k.bytes(4)-1))
		if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("New: %v", err)
		}
		f := func(t *callable.Trace[int]) (int, error) {
			callable.Scratch[uint64](t, 1)
			callable.Scratch[uint64](t, math.MaxInt/2) // its size in bytes overflows
			return 0, nil
		}
		if len(k.options) > 0 {
			return // an arena returns its own error
		}
		if _, err := created(k, f, []int{1}, callable.WithMemory(1<<40)); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), "WithMemory") {
			t.Errorf("an overflow: %v", err)
		}
	})
}

// A variant whose work is in flight must keep its memory and its output. A later call evicts it.
// Only the emulator runs this test, because a driver may wait for the device when it allocates,
// and the device waits for the test.
func TestMemoryLimitLeavesVariantsInFlight(t *testing.T) {
	for name, eager := range map[string]bool{"recorded": false, "eager": true} {
		t.Run(name, func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				k.eager = eager
				k.variantsInFlight()
			})
		})
	}
}

func (k *kit) variantsInFlight() {
	k.Helper()
	for _, cancelled := range []bool{false, true} {
		c, err := created(k, k.affine, []affine{{ramp(6, 0), 1, 1}}, callable.WithMemory(k.bytes(9)))
		k.OK(err)
		k.Wait(k.S)
		before := c.Stats().Calls
		ctx, cancel := context.WithCancel(background)
		release := k.Blocked()
		k.Cleanup(release)
		first := affine{ramp(6, 3), 1, 1}
		var pending callable.Pending[*driver.HostBuffer[uint32]]
		if cancelled {
			called := make(chan error)
			go func() {
				_, err := c.Call(ctx, first)
				called <- err
			}()
			k.Eventually("the call", func() bool { return c.Stats().Calls > before })
			cancel()
			if err := <-called; !errors.Is(err, context.Canceled) {
				k.Errorf("got %v", err)
			}
		} else {
			pending, err = c.Start(background, first)
			k.OK(err)
		}
		cancel()
		second := affine{ramp(4, 5), 2, 1}
		other, err := c.Start(background, second)
		k.OK(err)
		k.holds(c, 2, k.bytes(10), 0)
		release()
		out, err := other.Wait(background)
		k.OK(err)
		k.affineOf(second, out)
		if !cancelled {
			out, err := pending.Wait(background)
			k.OK(err)
			k.affineOf(first, out)
		}
		k.holds(c, 2, k.bytes(10), 0)
		k.answers(c, second)
		k.holds(c, 1, k.bytes(4), 1)
		k.OK(c.Close())
		k.holds(c, 0, 0, 1)
	}
}

// Stats must not wait for a call in progress.
func TestStatsDuringACall(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, nil)
		k.OK(c.CallWith(background, affine{ramp(4, 0), 1, 1}, func(*driver.HostBuffer[uint32]) error {
			k.holds(c, 1, k.bytes(4), 0)
			return nil
		}))
	})
}

package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// The address of freed memory is reused only on request.
func TestReuseAddresses(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{ReuseAddresses: reuse}))
		seen := map[cu.CUdeviceptr]bool{}
		for range 5 {
			b, err := driver.Alloc[byte](c, 3<<20)
			if err != nil {
				t.Fatal(err)
			}
			seen[b.Ptr()] = true
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 5, true: 1}[reuse]; len(seen) != want {
			t.Errorf("ReuseAddresses %v: 5 allocations have %d addresses, want %d", reuse, len(seen), want)
		}
	}
}

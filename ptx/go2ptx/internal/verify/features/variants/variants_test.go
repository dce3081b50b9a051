package variants

import (
	"context"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
)

// The device must run the variant for its architecture, or for the next older one. All variants must
// compute the same sums.
func TestTheDeviceRunsItsVariant(t *testing.T) {
	x, want := make([]uint32, 200), make([]uint32, 8)
	for i := range x {
		x[i] = uint32(i) * 0x9e3779b9
		want[i/gpu.WarpSize] += x[i]
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		device, err := c.Device().Arch()
		noError(t, err)
		arch := 0
		for _, a := range []int{70, 80, 90} {
			if a <= 10*device.Major+device.Minor {
				arch = a
			}
		}
		s, err := c.NewStream()
		noError(t, err)
		defer s.Close()
		dx, err := driver.AllocFrom(c, x)
		noError(t, err)
		defer dx.Close()
		sums, err := driver.Alloc[uint32](c, len(want))
		noError(t, err)
		defer sums.Close()
		ran, err := driver.AllocFrom(c, []int{-1})
		noError(t, err)
		defer ran.Close()
		k, err := SumsIn(c)
		noError(t, err)
		noError(t, k.Do(s, k.Grid(256), sums.All(), dx.All(), ran.All()))
		noError(t, s.Wait(context.Background()))
		got, got1 := make([]uint32, len(want)), make([]int, 1)
		noError(t, sums.CopyTo(got))
		noError(t, ran.CopyTo(got1))
		if got1[0] != arch || !slices.Equal(got, want) {
			t.Errorf("the variant for %d computed %v, want %d, %v", got1[0], got, arch, want)
		}
	})
	got, arch := make([]uint32, len(want)), []int{-1}
	noError(t, gpu.Run(gpu.D1(4), gpu.D1(64), func(t gpu.Thread) { sums(t, got, x, arch) }))
	if arch[0] != 0 || !slices.Equal(got, want) {
		t.Errorf("in Go: architecture %d, sums %v", arch[0], got)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package linked

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
)

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func upload[T any](t testing.TB, c *driver.Context, x []T) *driver.Buffer[T] {
	t.Helper()
	b, err := driver.Alloc[T](c, len(x))
	noError(t, err)
	t.Cleanup(func() { noError(t, b.Close()) })
	noError(t, b.CopyFrom(x))
	return b
}

func compare[T comparable](t testing.TB, what string, b *driver.Buffer[T], want []T) {
	t.Helper()
	got := make([]T, b.Len())
	noError(t, b.CopyTo(got))
	if !slices.Equal(got, want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func input() ([]uint32, []float64, []int32) {
	x, sums, above := make([]uint32, 100), make([]float64, 100), make([]int32, 100)
	for i := range x {
		x[i], sums[i] = uint32(i)*0x9e3779b9, float64(i*2)
	}
	return x, sums, above
}

// The first launcher links the kernels with mix.ptx. The second one must reuse the linked module.
func TestFunctionsOfOtherPTX(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		noError(t, err)
		defer s.Close()
		x, sums, above := input()
		dx, ds, da := upload(t, c, x), upload(t, c, sums), upload(t, c, above)
		for range 2 {
			k, err := ScrambleIn(c)
			noError(t, err)
			noError(t, k.Do(s, k.Grid(len(x)), dx.All(), ds.All(), da.All(), true))
			noError(t, gpu.Run(gpu.D1(2), gpu.D1(64), func(t gpu.Thread) { scramble(t, x, sums, above, false) }))
		}
		noError(t, s.Wait(context.Background()))
		compare(t, "x", dx, x)
		compare(t, "sums", ds, sums)
		compare(t, "above", da, above)
	})
}

// Failed checks in linked kernels must be reported.
func TestLinkedKernelsReportFaults(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		noError(t, err)
		defer s.Close()
		x, sums, above := input()
		k, err := ScrambleIn(c)
		noError(t, err)
		noError(t, k.Do(s, k.Grid(len(x)), upload(t, c, x).All(), upload(t, c, sums[:50]).All(), upload(t, c, above).All(), false))
		if err := s.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "linked.go:") || !strings.Contains(err.Error(), "with length 50") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestFunctionsWithoutGoAreNotSimulated(t *testing.T) {
	x, sums, above := input()
	err := gpu.Run(gpu.D1(1), gpu.D1(1), func(t gpu.Thread) { scramble(t, x, sums, above, true) })
	if err == nil || !strings.Contains(err.Error(), "gpu.Run does not simulate nothing of mix.ptx: compile the kernel with go2ptx and use the emulator") {
		t.Errorf("the error is %v", err)
	}
}

package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

func TestIotaCountsInEveryType(t *testing.T) {
	each(t, func(k *kit) {
		counts[uint8](k, 250, 3)
		counts[int8](k, -5, -3)
		counts[int16](k, 32000, 7)
		counts[uint32](k, 1<<32-3, 1)
		counts[int32](k, -4, -2)
		counts[int64](k, math.MinInt64, math.MaxInt64)
		counts(k, num.ToF16(-3), num.ToF16(0.3))
		counts(k, num.ToBF16(100), num.ToBF16(-0.7))
		counts[float32](k, 0.1, 0.2)
		counts(k, -1, 1e-3)
	})
}

func counts[T kernels.Element](k *kit, start, step T) {
	k.Helper()
	for _, n := range k.lengths() {
		b := alloc[T](k, n+2)
		k.run(kernels.Iota(b.View(1, n+1), start, step))
		all := host(k, b)
		if number(all[0]) != 0 || number(all[n+1]) != 0 {
			k.Errorf("%T, %d: wrote beside the memory", start, n)
		}
		for i, got := range all[1 : n+1] {
			if want := nth(start, step, i); got != want {
				k.Fatalf("%T: element %d of %d is %v, want %v", start, i, n, got, want)
			}
		}
	}
}

func nth[T kernels.Element](start, step T, i int) T {
	switch any(start).(type) {
	case float32, float64, kernels.F16, kernels.BF16:
		return nearest[T](math.FMA(float64(i), number(step), number(start)))
	}
	return fromWord[T](integer(start) + uint64(i)*integer(step))
}

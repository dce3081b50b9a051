package features

import (
	"bytes"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

// A kernel that shuffles and votes must get the results of functions that lead to a recursive one.
func TestRecursionBetweenShuffles(t *testing.T) {
	each(t, func(d *device) {
		x := make([]uint32, 64)
		for i := range x {
			x[i] = uint32(i*i) * 6
		}
		x[7], x[40] = 35, 91
		k := must(RecursionsIn(d.c))(d)
		for _, odd := range []bool{false, true} {
			want := make([]uint32, 4*len(x))
			out := upload(d, want...)
			noError(d, k.Do(d.s, k.Grid(len(x)), upload(d, x...).All(), out.All(), 3, odd))
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { recursions(t, x, want, 3, odd) }))
			if got := download(d, out); !slices.Equal(got, want) {
				d.Errorf("odd is %v: %#x, want %#x", odd, got, want)
			}
		}
	})
}

// Ptxas crashes on some direct calls of functions that are not recursive but lead to a recursive one.
func TestRecursionIsCalledThroughRegisters(t *testing.T) {
	for call, want := range map[string]bool{"divisor": true, "divisors": false, "mixed": true} {
		if got := bytes.Contains(gpuPTX, []byte("call (ret), "+call+",")); got != want {
			t.Errorf("there is a direct call of %s: %v", call, got)
		}
	}
}

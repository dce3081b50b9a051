package features

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

// If the source lane would be outside of the warp, the result must be the lane's own value. The
// instruction alone would not ensure this, because it uses only five bits of the distance.
func TestShufflesBeyondTheWarp(t *testing.T) {
	each(t, func(d *device) {
		v := make([]uint32, 64)
		for i := range v {
			v[i] = uint32(i) * 0x9e3779b9
		}
		want := make([]uint32, 8*len(v))
		for _, by := range []int{0, 1, 31, 32, 33, 63, -1, 1<<32 + 1} {
			out := upload(d, make([]uint32, len(want))...)
			k := must(FarShufflesIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(len(v)), upload(d, v...).All(), out.All(), by))
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { farShuffles(t, v, want, by) }))
			got := download(d, out)
			if !slices.Equal(got, want) {
				d.Errorf("by %d: %#x, want %#x", by, got, want)
			}
			for i, x := range v {
				far := got[8*i : 8*i+8]
				if far[4] != x || far[5] != x || far[6] != x || uint(by) >= 32 && (far[0] != x || far[1] != x || far[2] != x) {
					d.Fatalf("by %d: thread %d has %#x instead of its %#x", by, i, far, x)
				}
			}
		}
	})
}

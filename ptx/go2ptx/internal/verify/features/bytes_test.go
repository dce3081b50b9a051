package features

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Bytes must be reversed as by package math/bits on the host.
func TestReverseBytes(t *testing.T) {
	each(t, func(d *device) {
		x := []uint64{0, 1, 0x0123456789abcdef, 0x80f0000000000001, 1<<64 - 2}
		var want []uint64
		for _, v := range x {
			want = append(want, bits.ReverseBytes64(v), uint64(bits.ReverseBytes32(uint32(v))))
		}
		out := upload(d, make([]uint64, len(want))...)
		k := must(ReverseBytesIn(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(len(x)), out.All(), upload(d, x...).All()))
		if got := download(d, out); !slices.Equal(got, want) {
			d.Errorf("the bytes are %#x, want %#x", got, want)
		}
	})
}

// FindNthSet must find the same bits as on the host for all n, including the smallest int32, for which
// the instruction has another result on devices.
func TestNthSet(t *testing.T) {
	each(t, func(d *device) {
		const mask, base = 0xf0f0, 12
		n := []int32{0, 1, 4, 5, -1, -2, -5, -6, -32, -33, -34, math.MinInt32, math.MinInt32 + 1, math.MaxInt32}
		var want []uint32
		for _, v := range n {
			want = append(want, gpu.FindNthSet(mask, base, v))
		}
		out := upload(d, make([]uint32, len(n))...)
		k := must(NthSetIn(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(len(n)), out.All(), upload(d, n...).All(), mask, base))
		if got := download(d, out); !slices.Equal(got, want) {
			d.Errorf("the bits are %#x, want %#x", got, want)
		}
	})
}

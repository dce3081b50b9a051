package features

import (
	"math/bits"
	"slices"
	"testing"
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

package features

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

func TestHalves(t *testing.T) {
	each(t, func(d *device) {
		x, y := make([]uint64, 256), make([]uint32, 256)
		for i := range x {
			x[i], y[i] = uint64(i)*0x9e3779b97f4a7c15, uint32(i)*0x01230457&0x7bff7bff // finite
			x[i] &^= 0x40004000                                                        // small
		}
		want, words := make([]uint64, 3*len(x)), make([]uint32, 6*len(x))
		bytes := make([]uint32, len(x))
		out, outWords := upload(d, want...), upload(d, words...)
		outBytes := upload(d, bytes...)
		k := must(HalvesIn(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(len(x)), upload(d, x...).All(), upload(d, y...).All(), out.All(), outWords.All(), outBytes.All()))
		noError(d, gpu.Run(gpu.D1(4), gpu.D1(64), func(t gpu.Thread) { halves(t, x, y, want, words, bytes) }))
		if got := download(d, out); !slices.Equal(got, want) {
			d.Errorf("the results are %#x, want %#x", got, want)
		}
		if got := download(d, outBytes); !slices.Equal(got, bytes) {
			d.Errorf("the words of four bytes are %#x, want %#x", got, bytes)
		}
		if got := download(d, outWords); !slices.Equal(got, words) {
			d.Errorf("the words are %#x, want %#x", got, words)
		}
	})
}

package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	units "github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

// headsOfThread is the number of heads of a token for which a thread turns a pair.
const headsOfThread = 4

// Rope turns pairs of elements of heads: see kernels.Rope. With halves, pair i consists of elements i
// and i+pairs, and otherwise of 2i and 2i+1. Elements after the pairs are copied. The angle is a
// product of float64 that is reduced before it is rounded, so that large positions do no harm.
func Rope(t gpu.Thread, dst, src, positions, frequencies, tokens uint64, heads, dim, pairs uint32, dstToken, dstHead, srcToken, srcHead uint64, halves bool, half Half) {
	wide, groups := max(int(pairs), 1), max((int(heads)+headsOfThread-1)/headsOfThread, 1)
	for n := uint64(t.GlobalX()); heads > 0 && n < tokens*uint64(groups*wide); n += uint64(t.GridStrideX()) {
		rest := units.Div(n, uint64(wide))
		i := uint32(n - rest*uint64(wide))
		token := units.Div(rest, uint64(groups))
		head := uint32(rest-token*uint64(groups)) * headsOfThread
		a, b := 2*i, 2*i+1
		if halves {
			a, b = i, i+pairs
		}
		var sin, cos float32
		if pairs > 0 {
			sin, cos = turn(*value[int32](positions + 4*token), *value[float32](frequencies + 4*uint64(i)))
		}
		for h := head; h < min(heads, head+headsOfThread); h++ {
			from := src + (token*srcToken+uint64(h)*srcHead)<<half.log()
			to := dst + (token*dstToken+uint64(h)*dstHead)<<half.log()
			if pairs > 0 {
				first, second := uint64(a)<<half.log(), uint64(b)<<half.log()
				x, y := half.both(from+first, from+second)
				half.set(to+first, x*cos-y*sin)
				half.set(to+second, x*sin+y*cos)
			}
			for k := 2*pairs + i; k < dim; k += uint32(wide) {
				at := uint64(k) << half.log()
				if half == F32 {
					*value[uint32](to + at) = *value[uint32](from + at)
				} else {
					*value[uint16](to + at) = *value[uint16](from + at)
				}
			}
		}
	}
}

// both returns the elements at two addresses. Both loads begin before one ends.
func (h Half) both(a, b uint64) (x, y float32) {
	if h == F32 {
		return *value[float32](a), *value[float32](b)
	}
	v, w := *value[uint16](a), *value[uint16](b)
	return halfOf(h, v), halfOf(h, w)
}

// turn returns the sine and the cosine of position·frequency. Turns are counted, because only their
// fraction matters.
func turn(position int32, frequency float32) (sin, cos float32) {
	turns := float64(position) * float64(frequency) * (1 / (2 * math.Pi))
	half := 2 * float32(turns-gpu.RoundInt(turns, gpu.ToNearestEven))
	return math32.Sinpi(half), math32.Cospi(half)
}

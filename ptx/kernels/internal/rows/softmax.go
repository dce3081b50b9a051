package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Softmax sets each row of dst to the softmax of scale times the row of src: see kernels.Softmax.
func Softmax[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	team := &Block{t}
	eachRow(t, int(rows), int(cols), func(row, n int) {
		softmax[T](t, twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, int(cols)), scale, half)
	})
}

// SoftmaxInClusters is Softmax for sm_90 and later. A cluster can share a row.
func SoftmaxInClusters[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	team := &Cluster{Block: Block{t}}
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		softmax[T](t, twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, int(cols)), scale, half)
	})
}

// SoftmaxOfBundles is Softmax for sm_90 and later, and for short rows.
func SoftmaxOfBundles[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) { softmax[T](t, r, scale, half) })
}

func softmax[T Float, R line[T]](t gpu.Thread, r R, scale float32, half Half) {
	own := softened{most: -math32.Inf(1)}
	r.forth(func(x float32) {
		x = float32(x * scale)
		own.raise(x)
		own.sum += roughPower(x - anchor(own.most))
	}, func(w *pack) {
		v := floats[T](half, w)
		scaled[T](&v, scale)
		m := v[0]
		for i := 1; i < perPack[T](); i++ {
			m = num.Max(m, v[i])
		}
		own.raise(m)
		a := anchor(own.most)
		s := roughPower(v[0] - a)
		for i := 1; i < perPack[T](); i++ {
			s += roughPower(v[i] - a)
		}
		own.sum += s
	})
	all := r.exchange(pair{own.most, own.sum}, pair{-math32.Inf(1), 0}, func(p pair) pair {
		m := mostOfWarp(t, p[0])
		return pair{m, sumOfWarp(t, float32(p[1]*math32.Exp(p[0]-anchor(m))))}
	})
	a, factor := anchor(all[0]), gpu.ApproxRcp(all[1])
	r.back(func(x float32, _ uint64) float32 {
		x = float32(x * scale)
		return power[T](x-a) * factor
	}, func(w *pack, _ uint64) pack {
		v := floats[T](half, w)
		scaled[T](&v, scale)
		for i := range perPack[T]() {
			v[i] = power[T](v[i]-a) * factor
		}
		return packed[T](half, r.pairs(), &v)
	})
}

// scaled multiplies the elements of a pack. Products are rounded by themselves: the difference of a
// product that is rounded and one that is not would differ from 0 where it must be 0.
func scaled[T Float](v *[8]float32, scale float32) {
	for i := range perPack[T]() {
		v[i] = float32(v[i] * scale)
	}
}

// softened is a product that is at most slack below the largest of some products, and the sum of the
// powers of their differences to it.
type softened struct{ most, sum float32 }

// slack limits how often the sum is scaled, and thus rounded, if the products grow slowly.
const slack = 4

// raise makes m one of the products.
func (s *softened) raise(m float32) {
	if m > s.most+slack {
		s.sum *= math32.Exp(s.most - anchor(m))
		s.most = m
	}
}

// anchor returns what is subtracted from products of which the largest is near most. A row of nothing but
// -Inf has nothing to subtract.
func anchor(most float32) float32 {
	if most == -math32.Inf(1) {
		return 0
	}
	return most
}

// power returns exp(x) for x <= slack. Types of 16 bits do not need its last bits.
func power[T Float](x float32) float32 {
	if Size[T]() == 4 {
		return math32.Exp(x)
	}
	return roughPower(x)
}

// roughPower is power for sums. Its relative error grows with -x, and the power becomes smaller.
func roughPower(x float32) float32 { return gpu.ApproxExp2FTZ(float32(x * (1 / math.Ln2))) }

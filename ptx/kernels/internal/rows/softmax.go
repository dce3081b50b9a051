package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Softmax sets each row of dst to the softmax of scale times the row of src: see kernels.Softmax.
func Softmax[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	eachTwice(t, &Block{t: t}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Block]) {
		softmax[T](t, r, scale, half)
	})
}

// SoftmaxInClusters is Softmax for sm_90 and later. A cluster can share a row.
func SoftmaxInClusters[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	eachTwice(t, clusterOf(t), dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Cluster]) {
		softmax[T](t, r, scale, half)
	})
}

// SoftmaxOfBundles is Softmax for sm_90 and later, and for short rows.
func SoftmaxOfBundles[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) { softmax[T](t, r, scale, half) })
}

// softmax adds powers of the elements' products with scale, each divided by the power of an anchor near the largest
// product. What is divided by does not matter if it is the same for all elements.
func softmax[T Float, R line[T]](t gpu.Thread, r R, scale float32, half Half) {
	if Size[T]() == 2 {
		scale *= 1 / math.Ln2
	}
	var anchor, sum float32
	// move adds a difference to the anchor if it is too large, or if nothing was added to the sum yet.
	move := func(m float32) bool {
		first, next := sum == 0 && m > -math32.Inf(1), anchor+m
		if !(m > slack || first) || next == anchor {
			return false
		}
		if !first {
			sum *= roughPower[T](anchor - next)
		}
		anchor = next
		return true
	}
	r.forth(func() {}, func(x float32) {
		for {
			asIs()
			if d := difference(x, scale, anchor); !move(d) {
				sum += roughPower[T](d)
				break
			}
		}
	}, func(w *pack) {
		v := floats[T](half, w)
		var d [8]float32
		for {
			asIs()
			d = differences(&v, scale, anchor, r.each())
			m := d[0]
			for i := 1; i < r.each(); i++ {
				m = num.Max(m, d[i])
			}
			if !move(m) {
				break
			}
		}
		for i := range r.each() {
			sum += roughPower[T](d[i])
		}
	})
	if sum == 0 {
		anchor = -math32.Inf(1)
	}
	all := r.exchange(pair{anchor, sum}, pair{-math32.Inf(1), 0}, func(p pair, width uint32) pair {
		m := mostOf(t, p[0], width)
		if p[0] != m {
			p[1] *= power[T](p[0] - m)
		}
		return pair{m, sumOf(t, p[1], width)}
	})
	anchor, factor := all[0], gpu.ApproxRcp(all[1])
	r.back([2]uint64{}, func(x float32, _ uint64) float32 {
		return power[T](difference(x, scale, anchor)) * factor
	}, func(w *pack, _ uint64) pack {
		v := floats[T](half, w)
		v = differences(&v, scale, anchor, r.each())
		for i := range r.each() {
			v[i] = power[T](v[i]) * factor
		}
		return packed[T](half, r.pairs(), &v)
	})
}

// differences returns the differences of the elements' products with scale to the anchor. They are fused
// multiply-adds, and therefore precise. If the anchor itself is not, products are rounded like it, so that the
// difference of the largest is 0.
func differences(v *[8]float32, scale, anchor float32, n int) (d [8]float32) {
	if -precise < anchor && anchor < precise {
		for i := range n {
			d[i] = gpu.FMA(v[i], scale, -anchor)
		}
		return d
	}
	if gpu.Device() { // so that the compiler does not move the products out of this branch
		gpu.PTX("mov.f32 %0, %1;", gpu.Out(&scale), gpu.In(scale))
	}
	for i := range n {
		d[i] = float32(v[i]*scale) - anchor
	}
	return d
}

// precise is a power of two. The distance of smaller numbers is at most 1.
const precise = 1 << 24

func difference(x, scale, anchor float32) float32 {
	return differences(&[8]float32{x}, scale, anchor, 1)[0]
}

// slack limits how often the sum is scaled, and thus rounded, if the products grow slowly.
const slack = 4

// power returns exp(x), or 2 to the power of x for types of 16 bits, for x <= slack.
func power[T Float](x float32) float32 {
	if Size[T]() == 4 {
		return math32.Exp(x)
	}
	return roughPower[T](x)
}

// roughPower is power for sums. Its relative error grows with -x, and the power becomes smaller.
func roughPower[T Float](x float32) float32 {
	if Size[T]() == 4 {
		x = float32(x * (1 / math.Ln2))
	}
	return gpu.ApproxExp2FTZ(x)
}

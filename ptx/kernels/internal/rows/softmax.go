package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Softmax sets each row of dst to the softmax of scale times the row of src: see kernels.Softmax.
func Softmax(t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	eachTwice(t, &Block{t: t}, [2]uint64{}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[*Block]) {
		softmax(t, r, scale, half)
	})
}

// SoftmaxInClusters is Softmax for sm_90 and later. A cluster can share a row.
func SoftmaxInClusters(t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	eachTwice(t, clusterOf(t), [2]uint64{}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[*Cluster]) {
		softmax(t, r, scale, half)
	})
}

// SoftmaxOfBundles is Softmax for sm_90 and later, and for short rows.
func SoftmaxOfBundles(t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, half Half) {
	bundles(t, true, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled) { softmax(t, r, scale, half) })
}

// softmax adds powers of the elements' products with scale, each divided by the power of an anchor near the largest
// product. What is divided by does not matter if it is the same for all elements.
func softmax[R line](t gpu.Thread, r R, scale float32, half Half) {
	if half != F32 {
		scale *= 1 / math.Ln2
	}
	var anchor, sum float32
	limit := -math32.Inf(1) // of the differences to the anchor
	// move adds a difference above the limit to the anchor. Until the sum has an element, that is any difference.
	move := func(m float32) bool {
		if !(m > limit) {
			return false
		}
		next := anchor + m
		if next == anchor {
			limit = slack
			return false
		}
		if sum != 0 {
			sum *= (sized{wide: half == F32}).roughPower(anchor - next)
		}
		if sum == 0 {
			limit = -math32.Inf(1)
		}
		anchor = next
		return true
	}
	r.forth(func() {}, func(x float32) {
		for {
			asIs()
			if d := difference(x, scale, anchor); !move(d) {
				sum += (sized{wide: half == F32}).roughPower(d)
				break
			}
		}
	}, func(of sized, w *pack) {
		v, n := of.floats(w), of.inPack()
		var d [8]float32
		for {
			asIs()
			d = differences(&v, scale, anchor, n)
			m := [2]float32{d[0], d[1]} // two, because the next one of each does not wait for the other
			for i := uint32(2); i < n; i++ {
				m[i%2] = num.Max(m[i%2], d[i])
			}
			if !move(num.Max(m[0], m[1])) {
				break
			}
		}
		s := [2]float32{sum, 0}
		for i := range n {
			s[i%2] += of.roughPower(d[i])
		}
		sum = s[0] + s[1]
	})
	if sum == 0 {
		anchor = -math32.Inf(1)
	}
	all := r.exchange(pair{anchor, sum}, pair{-math32.Inf(1), 0}, func(p pair, width uint32) pair {
		m := mostOf(t, p[0], width)
		if p[0] != m {
			p[1] *= (sized{wide: half == F32}).power(p[0] - m)
		}
		return pair{m, sumOf(t, p[1], width)}
	})
	anchor, factor := all[0], gpu.ApproxRcp(all[1])
	r.back(false, func(x float32, _ uint64) float32 {
		return (sized{wide: half == F32}).power(difference(x, scale, anchor)) * factor
	}, func(of sized, w *pack, _ uint64) pack {
		v := of.floats(w)
		v = differences(&v, scale, anchor, of.inPack())
		for i := range of.inPack() {
			v[i] = of.power(v[i]) * factor
		}
		return of.packed(r.pairs(), &v)
	})
}

// differences returns the differences of the elements' products with scale to the anchor. They are fused
// multiply-adds, and therefore precise. If the anchor itself is not, products are rounded like it, so that the
// difference of the largest is 0.
func differences(v *[8]float32, scale, anchor float32, n uint32) (d [8]float32) {
	if math32.Abs(anchor) < precise {
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
func (s sized) power(x float32) float32 {
	if s.wide {
		return math32.Exp(x)
	}
	return s.roughPower(x)
}

// roughPower is power for sums. Its relative error grows with -x, and the power becomes smaller.
func (s sized) roughPower(x float32) float32 {
	if s.wide {
		x = float32(x * (1 / math.Ln2))
	}
	return gpu.ApproxExp2FTZ(x)
}

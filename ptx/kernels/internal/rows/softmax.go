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

// A powerSum is a sum of powers of 2, each divided by the power of an anchor.
type powerSum struct {
	anchor, sum float32
	limit       float32 // of the differences of exponents to the anchor
}

// atLowest returns a sum without an element, whose first one moves the anchor.
func atLowest() powerSum { return powerSum{limit: -math32.Inf(1)} }

// suits reports whether the differences of up to 8 elements whose powers have a sum are certainly too small to move the
// anchor. This takes fewer instructions than their maximum. If it is not certain, their maximum tells.
func (a *powerSum) suits(sum float32) bool { return a.limit == slack && sum <= 1<<slack }

// move adds a difference above the limit to the anchor, and reports whether it did. Until the sum has an element, that is
// any difference.
func (a *powerSum) move(m float32) bool {
	if !(m > a.limit) {
		return false
	}
	a.limit = slack
	next := a.anchor + m
	if next == a.anchor {
		return false
	}
	if a.sum != 0 {
		a.sum *= gpu.ApproxExp2FTZ(a.anchor - next)
	}
	a.anchor = next
	return true
}

// softmax adds powers of 2 of the elements' products with scale, each divided by the power of an anchor near the largest
// product. What is divided by does not matter if it is the same for all elements.
func softmax[R line](t gpu.Thread, r R, scale float32, half Half) {
	natural := scale
	scale *= 1 / math.Ln2
	a := atLowest()
	r.forth(func() {}, func(x float32) {
		for {
			asIs()
			if d := difference(x, scale, a.anchor); !a.move(d) {
				a.sum += gpu.ApproxExp2FTZ(d)
				break
			}
		}
	}, func(of sized, w *pack) {
		if of.any {
			for {
				asIs()
				m, rest := -math32.Inf(1), *w
				//gpu:unroll 1
				for range of.twos() {
					x, y := of.two(&rest)
					m = num.Max(m, num.Max(difference(x, scale, a.anchor), difference(y, scale, a.anchor)))
				}
				if !a.move(m) {
					break
				}
			}
			s, rest := [2]float32{a.sum, 0}, *w
			//gpu:unroll 1
			for range of.twos() {
				x, y := of.two(&rest)
				s[0] += gpu.ApproxExp2FTZ(difference(x, scale, a.anchor))
				s[1] += gpu.ApproxExp2FTZ(difference(y, scale, a.anchor))
			}
			a.sum = s[0] + s[1]
			return
		}
		v, n := of.floats(w), of.inPack()
		var d [8]float32
		for {
			asIs()
			d = differences(&v, scale, a.anchor, n)
			m := [2]float32{d[0], d[1]} // two, because the next one of each does not wait for the other
			for i := uint32(2); i < n; i++ {
				m[i%2] = num.Max(m[i%2], d[i])
			}
			if !a.move(num.Max(m[0], m[1])) {
				break
			}
		}
		s := [2]float32{a.sum, 0}
		for i := range n {
			s[i%2] += gpu.ApproxExp2FTZ(d[i])
		}
		a.sum = s[0] + s[1]
	})
	if a.sum == 0 {
		a.anchor = -math32.Inf(1)
	}
	all := r.exchange(pair{a.anchor, a.sum}, pair{-math32.Inf(1), 0}, func(p pair, width uint32) pair {
		m := mostOf(t, p[0], width)
		if p[0] != m {
			p[1] *= gpu.ApproxExp2FTZ(p[0] - m)
		}
		return pair{m, sumOf(t, p[1], width)}
	})
	anchor, factor := all[0], gpu.ApproxRcp(all[1])
	lack := missing(natural, scale) * factor
	r.back(false, func(x float32, _ uint64) float32 {
		return scaledPower(half == F32, difference(x, scale, anchor), factor, lack)
	}, func(of sized, w *pack, _ uint64) pack {
		if of.any {
			rest := *w
			var to pack
			//gpu:unroll 1
			for range of.twos() {
				x, y := of.two(&rest)
				x = scaledPower(half == F32, difference(x, scale, anchor), factor, lack)
				y = scaledPower(half == F32, difference(y, scale, anchor), factor, lack)
				of.addTwo(&to, x, y)
			}
			return to
		}
		v := of.floats(w)
		v = differences(&v, scale, anchor, of.inPack())
		for i := range of.inPack() {
			v[i] = scaledPower(of.wide, v[i], factor, lack)
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

// scaledPower returns 2 to the power of a difference, multiplied by a factor. That of float32 is corrected: see missing.
func scaledPower(wide bool, d, factor, lack float32) float32 {
	if wide {
		d = num.Max(d, -lowest)
		factor = gpu.FMA(d, lack, factor)
	}
	return gpu.ApproxExp2FTZ(d) * factor
}

// missing returns what the products with scale lack because it is a rounded natural/ln 2. The power of a difference d to
// the largest product must be multiplied by 1 + d·missing.
func missing(natural, scale float32) float32 {
	const high = float32(1 / math.Ln2)
	if math32.Abs(scale) < 0x1p-126 { // the products are then so small that it does not matter
		return 0
	}
	low := gpu.FMA(natural, high, -scale) + natural*float32(1/math.Ln2-float64(high))
	return low * math.Ln2 * gpu.ApproxRcpFTZ(scale)
}

// lowest is the negative of a power of which the exponential is 0.
const lowest = 200

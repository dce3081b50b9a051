package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	units "github.com/purecuda/cuda/ptx/kernels/internal/pack"
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
	begun       bool // whether the anchor has moved to an element
}

// add adds the powers of differences of exponents to the anchor, which are computed again after each move of the anchor. If
// the sum of the powers is small, no difference is above slack. This takes fewer instructions than the largest difference.
func (a *powerSum) add(differences func() eight, sum, most func(d *eight) float32) {
	for ready := a.begun; ; ready = true {
		asIs()
		d := differences()
		part := float32(0)
		if ready {
			if part = sum(&d); part <= 1<<slack {
				a.sum += part
				return
			}
		}
		m := most(&d)
		next := a.anchor + m
		if ready && (!(m > slack) || next == a.anchor) {
			a.sum += part
			return
		}
		if m == -math32.Inf(1) { // the sum of the powers is 0, or a NaN, which the maximum does not have
			continue
		}
		if a.sum != 0 {
			a.sum *= gpu.ApproxExp2FTZ(a.anchor - next)
		}
		a.anchor, a.begun = next, true
	}
}

// sumOfPowers returns the sum of the powers of 2 of differences: of four if they are of a wide type, or else of eight.
func sumOfPowers(d *eight, wide bool) float32 {
	s := [2]float32{gpu.ApproxExp2FTZ(d[0]), gpu.ApproxExp2FTZ(d[1])} // two, because the next one of each does not wait for the other
	for i := 2; i < 4; i++ {
		s[i%2] += gpu.ApproxExp2FTZ(d[i])
	}
	if !wide {
		for i := 4; i < 8; i++ {
			s[i%2] += gpu.ApproxExp2FTZ(d[i])
		}
	}
	return s[0] + s[1]
}

// softmax adds powers of 2 of the elements' products with scale, each divided by the power of an anchor near the largest
// product. What is divided by does not matter if it is the same for all elements.
func softmax[R line](t gpu.Thread, r R, scale float32, half Half) {
	natural := scale
	scale *= 1 / math.Ln2
	var a powerSum
	r.forth(func() {}, func(x float32) {
		a.add(func() eight { return eight{difference(x, scale, a.anchor)} },
			func(d *eight) float32 { return gpu.ApproxExp2FTZ(d[0]) }, func(d *eight) float32 { return d[0] })
	}, func(w *pack) {
		v := half.elements(w)
		a.add(func() eight { return differencesOfEight(&v, scale, a.anchor) },
			func(d *eight) float32 { return sumOfPowers(d, half == F32) }, func(d *eight) float32 {
				if half == F32 {
					return mostOf8(d, 4)
				}
				return mostOf8(d, 8)
			})
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
	r.back(func(x float32, _ uint64) float32 {
		return scaledPower(half == F32, difference(x, scale, anchor), factor, lack)
	}, func(w *pack, _ uint64) pack {
		v := half.elements(w)
		v = differences(&v, scale, anchor)
		f := eight{factor, factor, factor, factor, factor, factor, factor, factor}
		if half == F32 { // see scaledPower
			for i := range 4 {
				v[i], f[i] = corrected(v[i], factor, lack)
			}
		}
		for i := range v {
			v[i] = gpu.ApproxExp2FTZ(v[i]) * f[i]
		}
		return half.packed(r.pairs(), &v)
	})
}

// precise is a power of two. The distance of smaller numbers is at most 1.
const precise = 1 << 24

func difference(x, scale, anchor float32) float32 {
	return differencesOfEight(&eight{x}, scale, anchor)[0]
}

// differences returns the differences of the elements' products with scale to the anchor. They are fused
// multiply-adds, and therefore precise. If the anchor itself is not, products are rounded like it, so that the
// difference of the largest is 0. differences is for loops that do not change the anchor, and differencesOfEight for
// others, where it takes fewer instructions.
func differences(v *eight, scale, anchor float32) (d eight) {
	d = *v
	if !(math32.Abs(anchor) < precise) {
		s := math.Float32frombits(units.Fresh(math.Float32bits(scale))) // so that the products stay here
		for i := range d {
			d[i] *= s
		}
		scale = 1
	}
	for i := range d {
		d[i] = gpu.FMA(d[i], scale, -anchor)
	}
	return d
}

// slack limits how often the sum is scaled, and thus rounded, if the products grow slowly.
const slack = 4

// scaledPower returns 2 to the power of a difference, multiplied by a factor. That of float32 is corrected: see missing.
func scaledPower(wide bool, d, factor, lack float32) float32 {
	if wide {
		d, factor = corrected(d, factor, lack)
	}
	return gpu.ApproxExp2FTZ(d) * factor
}

// corrected returns a difference and a factor for scaledPower.
func corrected(d, factor, lack float32) (_, _ float32) {
	d = num.Max(d, -lowest)
	return d, gpu.FMA(d, lack, factor)
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

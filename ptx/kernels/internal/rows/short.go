package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	units "github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

// Kernels of short rows compute 8 elements at a time, so that their code is the same for all types: those of a pack, or
// of two packs of float32.
type eight = [8]float32

// only is a set of 8 elements. Element i has bit i.
type only uint32

// every is the set of 8 elements.
const every only = 1<<8 - 1

// has reports whether element i is in the set.
func (o only) has(i int) bool { return o&(1<<i) != 0 }

// of replaces the elements that are not in the set.
func (o only) of(v *eight, none float32) {
	if o == every {
		return
	}
	o = only(units.Fresh(uint32(o)))
	for i := range v {
		if !o.has(i) {
			v[i] = none
		}
	}
}

// floats returns the elements of a pack, or of two packs if they are float32.
func (h Half) floats(first, second *pack) (v eight) {
	if h == F32 {
		w, u := *first, *second
		for i := range w {
			v[i], v[i+4] = math.Float32frombits(w[i]), math.Float32frombits(u[i])
		}
		return v
	}
	w := *first
	if h == BF16 {
		for i := range w {
			v[2*i], v[2*i+1] = math.Float32frombits(w[i]<<16), math.Float32frombits(w[i]&^0xffff)
		}
		return v
	}
	for i := range w {
		v[2*i], v[2*i+1] = num.F16FromBits(uint16(w[i])).Float32(), num.F16FromBits(uint16(w[i]>>16)).Float32()
	}
	return v
}

// halves rounds elements to a pack of elements of 16 bits.
func (h Half) halves(v *eight) (w pack) {
	if h == BF16 {
		for i := range w {
			gpu.PurePTX("cvt.rn.bf16x2.f32 %0, %1, %2;", gpu.Out(&w[i]), gpu.In(v[2*i+1]), gpu.In(v[2*i]))
		}
		return w
	}
	for i := range w {
		gpu.PurePTX("cvt.rn.f16x2.f32 %0, %1, %2;", gpu.Out(&w[i]), gpu.In(v[2*i+1]), gpu.In(v[2*i]))
	}
	return w
}

// mask replaces those of 8 elements that are not in the row.
type mask func(v *eight, none float32)

// RMS is a bit of the last argument of norms. With it, they are RMS norms, and otherwise layer norms. Odd is a bit of the
// last argument of kernels of short rows, for rows whose length is not a multiple of 16 bytes. With it, the driver's compiler
// removes the code for rows that consist of packs. Without it, rows can have any length.
const (
	RMS Half = 4
	Odd Half = 8
)

// NormOfBundles is RMSNorm or LayerNorm for sm_90 and later, and for short rows: see RMS.
func NormOfBundles(t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, of Half) {
	part := partOf(cols)
	bundles(t, columns{weight, bias}, dst, src, rows, cols, dstPitch, srcPitch, of, func(r *bundled) {
		shortNorm(t, r, part, eps, of)
	})
}

// shortNorm is like layer. For an RMS norm, the number near the mean is 0.
func shortNorm(t gpu.Thread, r *bundled, part, eps float32, of Half) {
	var near, factor, shift float32
	var sums pair
	again := of&RMS != 0
	r.run(func() {
		// Using the sample waits for its load, so the copies of the row must start before.
		if !again {
			near = r.sample()
		}
	}, func(v *eight, m mask) {
		m(v, near)
		x := v[0] - near
		s := pair{x, x * x} // sums of packs round less often than a sum of all elements
		for i := 1; i < len(v); i++ {
			x := v[i] - near
			s = pair{s[0] + x, s[1] + x*x}
		}
		sums = pair{sums[0] + s[0], sums[1] + s[1]}
	}, func() bool {
		sums = r.exchange(sums, pair{}, func(p pair, width uint32) pair { return sumsOf(t, p, width) })
		mean, squared := near, sums[1]*part
		if of&RMS == 0 {
			d := sums[0] * part
			mean += d
			squared -= d * d
			if squared < 0 { // not if it is NaN
				squared = 0
			}
			if far := !(d*d <= 4*squared); !again && gpu.Any(t, far) {
				again, near, sums = true, mean, pair{}
				return true
			}
		}
		factor = gpu.ApproxRsqrt(squared + eps)
		shift = -mean * factor
		return false
	}, func(v *eight) {
		for i := range v {
			v[i] = gpu.FMA(v[i], factor, shift)
		}
	})
}

// SoftmaxOfBundles is Softmax for sm_90 and later, and for short rows.
func SoftmaxOfBundles(t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, scale float32, of Half) {
	bundles(t, columns{}, dst, src, rows, cols, dstPitch, srcPitch, of, func(r *bundled) { shortSoftmax(t, r, scale, of&3) })
}

// shortSoftmax is like softmax.
func shortSoftmax(t gpu.Thread, r *bundled, scale float32, half Half) {
	natural := scale
	scale *= 1 / math.Ln2
	var a powerSum
	var factor, lack float32
	r.run(func() {}, func(v *eight, m mask) {
		a.add(func() eight {
			d := differencesOfEight(v, scale, a.anchor)
			m(&d, -math32.Inf(1))
			return d
		}, func(d *eight) float32 { return sumOfPowers(d, false) }, func(d *eight) float32 { return mostOf8(d, 8) })
	}, func() bool {
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
		a.anchor, factor = all[0], gpu.ApproxRcp(all[1])
		lack = missing(natural, scale) * factor
		return false
	}, func(v *eight) {
		*v = differencesOfEight(v, scale, a.anchor)
		powers(v, half, factor, lack)
	})
}

// powers replaces differences by powers of 2, multiplied by a factor.
func powers(d *eight, half Half, factor, lack float32) {
	if half == F32 {
		for i, x := range d {
			d[i] = scaledPower(true, x, factor, lack)
		}
		return
	}
	for i, x := range d {
		d[i] = scaledPower(false, x, factor, lack)
	}
}

// differencesOfEight is like differences.
func differencesOfEight(v *eight, scale, anchor float32) (d eight) {
	if math32.Abs(anchor) < precise {
		for i, x := range v {
			d[i] = gpu.FMA(x, scale, -anchor)
		}
		return d
	}
	scale = math.Float32frombits(units.Fresh(math.Float32bits(scale))) // so that the products stay here
	for i, x := range v {
		d[i] = float32(x*scale) - anchor
	}
	return d
}

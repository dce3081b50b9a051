package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Norm moves each row to the mean 0 and the variance 1, or with RMS in "of" only divides it by its root mean square: see
// kernels.LayerNorm and kernels.RMSNorm. The addresses of weight and bias may be 0.
func Norm(t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, of Half) {
	part, bias := partOf(cols), biasOf(of, bias)
	eachTwice(t, &Block{t: t}, [2]uint64{weight, bias}, dst, src, rows, cols, dstPitch, srcPitch, of&3, func(r *twice[*Block]) {
		layer(t, r, weight, bias, part, eps, of&3, of&RMS != 0)
	})
}

// NormInClusters is Norm for sm_90 and later. A cluster can share a row.
func NormInClusters(t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, of Half) {
	part, bias := partOf(cols), biasOf(of, bias)
	eachTwice(t, clusterOf(t), [2]uint64{weight, bias}, dst, src, rows, cols, dstPitch, srcPitch, of&3, func(r *twice[*Cluster]) {
		layer(t, r, weight, bias, part, eps, of&3, of&RMS != 0)
	})
}

// biasOf returns the address of the bias. An RMS norm has none, which ptxas would not know otherwise.
func biasOf(of Half, bias uint64) uint64 {
	if of&RMS != 0 {
		return 0
	}
	return bias
}

// layer adds the distances of the elements to a number near the mean, and their squares. This takes one
// exchange, and loses little if the number is at most twice the standard deviation from the mean. If it is
// further away, the sums are repeated with the mean. The sample is likely to be near the mean of the row. For an RMS norm,
// the number is 0, and only the squares are needed.
func layer[R line](t gpu.Thread, r R, weight, bias uint64, part, eps float32, half Half, rms bool) {
	var near, mean, squared float32
	var sums pair
	for again := false; ; again = true {
		sums = pair{}
		r.forth(func() {
			// Using the sample waits for its load, so the copies of the row must start before.
			if !again && !rms {
				near = r.sample()
			}
		}, func(x float32) {
			if !rms {
				x -= near
			}
			sums = pair{sums[0] + x*x, sums[1] + x}
		}, func(w *pack) {
			v := half.elements(w)
			if !rms {
				for i := range v {
					v[i] -= near
				}
			}
			s := pair{v[0] * v[0], v[0]} // sums of packs round less often than a sum of all elements
			for i := 1; i < 4; i++ {
				s = pair{s[0] + v[i]*v[i], s[1] + v[i]}
			}
			if half != F32 {
				for i := 4; i < 8; i++ {
					s = pair{s[0] + v[i]*v[i], s[1] + v[i]}
				}
			}
			sums = pair{sums[0] + s[0], sums[1] + s[1]}
		})
		if rms {
			sums[1] = 0 // so that ptxas removes what adds to it
		}
		sums = r.exchange(sums, pair{}, func(p pair, width uint32) pair {
			return overLanes(width, p, func(p pair, d int) pair {
				p[0] += gpu.ShuffleXor(t, p[0], d)
				if !rms {
					p[1] += gpu.ShuffleXor(t, p[1], d)
				}
				return p
			})
		})
		if rms {
			break
		}
		d := sums[1] * part
		mean = near + d
		squared = sums[0]*part - d*d
		if squared < 0 { // not if it is NaN
			squared = 0
		}
		if far := !(d*d <= 4*squared); again || !gpu.Any(t, far) {
			break
		}
		near = mean
	}
	factor := gpu.ApproxRsqrt(squared + eps)
	shift := -mean * factor
	if rms {
		factor = gpu.ApproxRsqrt(sums[0]*part + eps)
		shift = math.Float32frombits(1 << 31) // so that -0 stays -0
	}
	finish(r, weight, bias, factor, shift, half, rms)
}

// partOf returns 1 divided by a number of columns.
func partOf(cols uint64) float32 { return gpu.ApproxRcp(float32(cols)) }

// finish multiplies each element by the factor and adds the shift. Then it does so with the weight and the bias of the
// column.
func finish[R line](r R, weight, bias uint64, factor, shift float32, half Half, rms bool) {
	factors, summands, none := half.ones(), pack{}, float32(0)
	if rms { // so that -0 stays -0
		none = math.Float32frombits(1 << 31)
		summands = repeatedWord(1<<31 | 1<<15>>(half/F32*16))
	}
	weightOfPacks, biasOfPacks := weight+r.before(), bias+r.before()
	r.back(func(x float32, at uint64) float32 {
		w, b := float32(1), none
		if weight != 0 {
			w = half.at(weight + at)
		}
		if bias != 0 {
			b = half.at(bias + at)
		}
		return gpu.FMA(gpu.FMA(x, factor, shift), w, b)
	}, func(v *pack, at uint64) pack {
		// Both loads begin before one ends.
		if weight != 0 {
			factors = *words(weightOfPacks + at)
		}
		if bias != 0 {
			summands = *words(biasOfPacks + at)
		}
		x, w, b := half.elementsOfThree(v, &factors, &summands)
		for i := range x {
			x[i] = gpu.FMA(gpu.FMA(x[i], factor, shift), w[i], b[i])
		}
		return half.packed(r.pairs(), &x)
	})
}

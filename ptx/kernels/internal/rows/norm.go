package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Norm moves each row to the mean 0 and the variance 1, or with RMS in "of" only divides it by its root mean square: see
// kernels.LayerNorm and kernels.RMSNorm. The addresses of weight and bias may be 0.
func Norm(t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, of Half) {
	part := partOf(cols)
	eachTwice(t, &Block{t: t}, [2]uint64{weight, bias}, dst, src, rows, cols, dstPitch, srcPitch, of&3, func(r *twice[*Block]) {
		layer(t, r, weight, bias, part, eps, of&3, of&RMS != 0)
	})
}

// RMSNormInClusters is Norm with RMS for sm_90 and later. A cluster can share a row.
func RMSNormInClusters(t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, clusterOf(t), [2]uint64{weight}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[*Cluster]) {
		rms(t, r, weight, part, eps, half)
	})
}

func rms[R line](t gpu.Thread, r R, weight uint64, part, eps float32, half Half) {
	var sum float32
	r.forth(func() {}, func(x float32) { sum += x * x }, func(of sized, w *pack) {
		v := of.floats(w)
		s := [2]float32{sum, 0} // two, because the next one of each does not wait for the other
		for i := range of.inPack() {
			s[i%2] += v[i] * v[i]
		}
		sum = s[0] + s[1]
	})
	all := r.exchange(pair{sum, 0}, pair{}, func(p pair, width uint32) pair { return pair{sumOf(t, p[0], width), 0} })
	factor := gpu.ApproxRsqrt(all[0]*part + eps)
	finish(r, weight, 0, half, false, func(x, w, _ float32) float32 { return x * factor * w })
}

// LayerNormInClusters is Norm without RMS for sm_90 and later. A cluster can share a row.
func LayerNormInClusters(t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, clusterOf(t), [2]uint64{weight, bias}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[*Cluster]) {
		layer(t, r, weight, bias, part, eps, half, false)
	})
}

// layer adds the distances of the elements to a number near the mean, and their squares. This takes one
// exchange, and loses little if the number is at most twice the standard deviation from the mean. If it is
// further away, the sums are repeated with the mean. The mean of the sample is likely to be near that of the row.
func layer[R line](t gpu.Thread, r R, weight, bias uint64, part, eps float32, half Half, rms bool) {
	var near, mean, squared float32
	var sums pair
	for again := false; ; again = true {
		sums = pair{}
		r.forth(func() {
			// Using the sample waits for its load, so the copies of the row must start before.
			if !again && !rms {
				sample := r.sample()
				if of := (sized{half: half}); !r.pairs() {
					a, b := of.two(&sample)
					c, d := of.two(&sample)
					near = (a + b + c + d) / 4
					return
				}
				half.sized(func(of sized) {
					v := of.floats(&sample)
					near = (v[0] + v[1] + v[2] + v[3]) / 4
				})
			}
		}, func(x float32) {
			x -= near
			sums = pair{sums[0] + x, sums[1] + x*x}
		}, func(of sized, w *pack) {
			if rms { // in the order of rms
				s := [2]float32{sums[1], 0}
				//gpu:unroll 1
				for range of.twos() {
					x, y := of.two(w)
					s = [2]float32{s[0] + x*x, s[1] + y*y}
				}
				sums[1] = s[0] + s[1]
				return
			}
			if of.any {
				var s pair
				//gpu:unroll 1
				for range of.twos() {
					x, y := of.two(w)
					x, y = x-near, y-near
					s = pair{s[0] + x, s[1] + x*x}
					s = pair{s[0] + y, s[1] + y*y}
				}
				sums = pair{sums[0] + s[0], sums[1] + s[1]}
				return
			}
			v := of.floats(w)
			x := v[0] - near
			s := pair{x, x * x} // sums of packs round less often than a sum of all elements
			for i := 1; i < int(of.inPack()); i++ {
				x := v[i] - near
				s = pair{s[0] + x, s[1] + x*x}
			}
			sums = pair{sums[0] + s[0], sums[1] + s[1]}
		})
		sums = r.exchange(sums, pair{}, func(p pair, width uint32) pair { return sumsOf(t, p, width) })
		if rms {
			break
		}
		d := sums[0] * part
		mean = near + d
		squared = sums[1]*part - d*d
		if squared < 0 { // not if it is NaN
			squared = 0
		}
		if far := !(d*d <= 4*squared); again || !gpu.Any(t, far) {
			break
		}
		near = mean
	}
	factor := gpu.ApproxRsqrt(squared + eps)
	if rms {
		factor = gpu.ApproxRsqrt(sums[1]*part + eps)
	}
	shift := -mean * factor
	finish(r, weight, bias, half, rms, func(x, w, b float32) float32 {
		return gpu.FMA(gpu.FMA(x, factor, shift), w, b)
	})
}

// partOf returns 1 divided by a number of columns.
func partOf(cols uint64) float32 { return gpu.ApproxRcp(float32(cols)) }

// finish stores what a function makes of each element, and of the elements of weight and bias of its column.
func finish[R line](r R, weight, bias uint64, half Half, rms bool, do func(x, weight, bias float32) float32) {
	factors, summands, none := half.ones(), pack{}, float32(0)
	if rms { // so that -0 stays -0
		none = math.Float32frombits(1 << 31)
		summands = repeatedWord(1<<31 | 1<<15>>(half/F32*16))
	}
	weightOfPacks, biasOfPacks := weight+r.before(), bias+r.before()
	r.back(true, func(x float32, at uint64) float32 {
		w, b := float32(1), none
		if weight != 0 {
			w = half.at(weight + at)
		}
		if bias != 0 {
			b = half.at(bias + at)
		}
		return do(x, w, b)
	}, func(of sized, v *pack, at uint64) pack {
		// Both loads begin before one ends.
		if weight != 0 {
			factors = *words(weightOfPacks + at)
		}
		if bias != 0 {
			summands = *words(biasOfPacks + at)
		}
		if of.any {
			from, w, b := *v, factors, summands
			var to pack
			//gpu:unroll 1
			for range of.twos() {
				x, y := of.two(&from)
				wx, wy := of.two(&w)
				bx, by := of.two(&b)
				of.addTwo(&to, do(x, wx, bx), do(y, wy, by))
			}
			return to
		}
		x, w, b := of.floats(v), of.floats(&factors), of.floats(&summands)
		for i := range of.inPack() {
			x[i] = do(x[i], w[i], b[i])
		}
		return of.packed(r.pairs(), &x)
	})
}

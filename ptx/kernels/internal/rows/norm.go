package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// RMSNorm divides each row by its root mean square: see kernels.RMSNorm. The address of weight may be
// 0.
func RMSNorm[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, &Block{t: t}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Block]) {
		rms[T](t, r, weight, part, eps, half)
	})
}

// RMSNormInClusters is RMSNorm for sm_90 and later. A cluster can share a row.
func RMSNormInClusters[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, clusterOf(t), dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Cluster]) {
		rms[T](t, r, weight, part, eps, half)
	})
}

// RMSNormOfBundles is RMSNorm for sm_90 and later, and for short rows.
func RMSNormOfBundles[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) {
		rms[T](t, r, weight, part, eps, half)
	})
}

func rms[T Float, R line[T]](t gpu.Thread, r R, weight uint64, part, eps float32, half Half) {
	var sum float32
	r.forth(func() {}, func(x float32) { sum += x * x }, func(w *pack) {
		v := floats[T](half, w)
		for i := range r.each() {
			sum += v[i] * v[i]
		}
	})
	all := r.exchange(pair{sum, 0}, pair{}, func(p pair, width uint32) pair { return pair{sumOf(t, p[0], width), 0} })
	factor := gpu.ApproxRsqrt(all[0]*part + eps)
	finish[T](r, weight, 0, half, func(x, w, _ float32) float32 { return x * factor * w })
}

// LayerNorm moves each row to the mean 0 and the variance 1: see kernels.LayerNorm. The addresses of
// weight and bias may be 0.
func LayerNorm[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, &Block{t: t}, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Block]) {
		layer[T](t, r, weight, bias, part, eps, half)
	})
}

// LayerNormInClusters is LayerNorm for sm_90 and later. A cluster can share a row.
func LayerNormInClusters[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	eachTwice(t, clusterOf(t), dst, src, rows, cols, dstPitch, srcPitch, half, func(r *twice[T, *Cluster]) {
		layer[T](t, r, weight, bias, part, eps, half)
	})
}

// LayerNormOfBundles is LayerNorm for sm_90 and later, and for short rows.
func LayerNormOfBundles[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	part := partOf(cols)
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) {
		layer[T](t, r, weight, bias, part, eps, half)
	})
}

// layer adds the distances of the elements to a number near the mean, and their squares. This takes one
// exchange, and loses little if the number is at most twice the standard deviation from the mean. If it is
// further away, the sums are repeated with the mean. The mean of the sample is likely to be near that of the row.
func layer[T Float, R line[T]](t gpu.Thread, r R, weight, bias uint64, part, eps float32, half Half) {
	var near, mean, squared float32
	for again := false; ; again = true {
		var sums pair
		r.forth(func() {
			// Using the sample waits for its load, so the copies of the row must start before.
			if !again {
				sample := r.sample()
				v := floats[T](half, &sample)
				near = (v[0] + v[1] + v[2] + v[3]) / 4
			}
		}, func(x float32) {
			x -= near
			sums = pair{sums[0] + x, sums[1] + x*x}
		}, func(w *pack) {
			v := floats[T](half, w)
			for i := range r.each() {
				x := v[i] - near
				sums = pair{sums[0] + x, sums[1] + x*x}
			}
		})
		sums = r.exchange(sums, pair{}, func(p pair, width uint32) pair { return sumsOf(t, p, width) })
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
	shift := -mean * factor
	finish[T](r, weight, bias, half, func(x, w, b float32) float32 {
		return gpu.FMA(gpu.FMA(x, factor, shift), w, b)
	})
}

// partOf returns 1 divided by a number of columns.
func partOf(cols uint64) float32 { return gpu.ApproxRcp(float32(cols)) }

// repeated returns a pack of equal elements.
func repeated[T Float](v T) pack {
	w := uint32(v) * 0x10001
	if Size[T]() == 4 {
		w = math.Float32bits(float32(v))
	}
	return pack{w, w, w, w}
}

// finish stores what a function makes of each element, and of the elements of weight and bias of its column.
func finish[T Float, R line[T]](r R, weight, bias uint64, half Half, do func(x, weight, bias float32) float32) {
	factors, summands := repeated(roundTo[T](half, 1)), pack{}
	weightOfPacks, biasOfPacks := weight+r.before(), bias+r.before()
	r.back([2]uint64{weight, bias}, func(x float32, at uint64) float32 {
		w, b := float32(1), float32(0)
		if weight != 0 {
			w = floatOf[T](half, weight+at)
		}
		if bias != 0 {
			b = floatOf[T](half, bias+at)
		}
		return do(x, w, b)
	}, func(v *pack, at uint64) pack {
		// Both loads begin before one ends.
		if weight != 0 {
			factors = r.load(weightOfPacks + at)
		}
		if bias != 0 {
			summands = r.load(biasOfPacks + at)
		}
		return forHalf[T](half, func(half Half) pack {
			x, w, b := floats[T](half, v), floats[T](half, &factors), floats[T](half, &summands)
			for i := range r.each() {
				x[i] = do(x[i], w[i], b[i])
			}
			return packed[T](half, r.pairs(), &x)
		})
	})
}

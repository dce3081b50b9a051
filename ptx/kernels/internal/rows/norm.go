package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// RMSNorm divides each row by its root mean square: see kernels.RMSNorm. The address of weight may be
// 0.
func RMSNorm[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Block{t}
	eachRow(t, int(rows), int(cols), func(row, n int) {
		r := twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, int(cols))
		rms[T](t, r, weight, int(cols), eps, half)
	})
}

// RMSNormInClusters is RMSNorm for sm_90 and later. A cluster can share a row.
func RMSNormInClusters[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Cluster{Block: Block{t}}
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		r := twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, int(cols))
		rms[T](t, r, weight, int(cols), eps, half)
	})
}

// RMSNormOfBundles is RMSNorm for sm_90 and later, and for short rows.
func RMSNormOfBundles[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) {
		rms[T](t, r, weight, int(cols), eps, half)
	})
}

func rms[T Float, R line[T]](t gpu.Thread, r R, weight uint64, cols int, eps float32, half Half) {
	var sum float32
	r.forth(func(x float32) { sum += x * x }, func(w *pack) {
		v := floats[T](half, w)
		sum += squares[T](&v)
	})
	all := r.exchange(pair{sum, 0}, pair{}, func(p pair) pair { return pair{sumOfWarp(t, p[0]), 0} })
	finish[T](r, weight, 0, 0, gpu.ApproxRsqrt(all[0]/float32(cols)+eps), half)
}

// LayerNorm moves each row to the mean 0 and the variance 1: see kernels.LayerNorm. The addresses of
// weight and bias may be 0.
func LayerNorm[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Block{t}
	eachRow(t, int(rows), int(cols), func(row, n int) {
		from := src + offset[T](row, srcPitch)
		sample := sampleOf[T](from, n)
		r := twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), from, n, int(cols))
		layer[T](t, r, &sample, weight, bias, int(cols), eps, half)
	})
}

// LayerNormInClusters is LayerNorm for sm_90 and later. A cluster can share a row.
func LayerNormInClusters[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Cluster{Block: Block{t}}
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		from := src + offset[T](row, srcPitch)
		sample := sampleOf[T](from, n)
		r := twiceOf[T](t, team, half, dst+offset[T](row, dstPitch), from, n, int(cols))
		layer[T](t, r, &sample, weight, bias, int(cols), eps, half)
	})
}

// LayerNormOfBundles is LayerNorm for sm_90 and later, and for short rows.
func LayerNormOfBundles[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	bundles(t, dst, src, rows, cols, dstPitch, srcPitch, half, func(r *bundled[T]) {
		sample := r.sample()
		layer[T](t, r, &sample, weight, bias, int(cols), eps, half)
	})
}

// layer adds the distances of the elements to a number near the mean, and their squares. This takes one
// exchange, and loses little if the number is at most twice the standard deviation from the mean. If it is
// further away, the sums are repeated with the mean. The mean of the sample is likely to be near that of the row.
func layer[T Float, R line[T]](t gpu.Thread, r R, sample *pack, weight, bias uint64, cols int, eps float32, half Half) {
	// The sample is used after the copies of the row have started. Using it waits for its load.
	v := floats[T](half, sample)
	near := v[0]
	for i := 1; i < perPack[T](); i++ {
		near += v[i]
	}
	near *= 1 / float32(perPack[T]())
	var mean, squared float32
	for again := false; ; again = true {
		var sums pair
		r.forth(func(x float32) {
			x -= near
			sums = pair{sums[0] + x, sums[1] + x*x}
		}, func(w *pack) {
			v := floats[T](half, w)
			for i := range perPack[T]() {
				v[i] -= near
			}
			s := v[0]
			for i := 1; i < perPack[T](); i++ {
				s += v[i]
			}
			sums = pair{sums[0] + s, sums[1] + squares[T](&v)}
		})
		sums = r.exchange(sums, pair{}, func(p pair) pair { return sumsOfWarp(t, p) })
		d := sums[0] / float32(cols)
		mean = near + d
		squared = sums[1]/float32(cols) - d*d
		if squared < 0 { // not if it is NaN
			squared = 0
		}
		if far := !(d*d <= 4*squared); again || !gpu.Any(t, far) {
			break
		}
		near = mean
	}
	finish[T](r, weight, bias, mean, gpu.ApproxRsqrt(squared+eps), half)
}

// sampleOf returns a pack whose mean is likely to be near the mean of a row: one from the middle of it. In a
// short row, it repeats the first element.
func sampleOf[T Float](row uint64, n int) (w pack) {
	if p := partsOf[T](row, n); p.packs > 0 {
		return *words(p.first + uint64(p.packs)/2*16)
	}
	if n > 0 {
		return repeated(*value[T](row))
	}
	return w
}

// repeated returns a pack of equal elements.
func repeated[T Float](v T) pack {
	w := uint32(v) * 0x10001
	if Size[T]() == 4 {
		w = math.Float32bits(float32(v))
	}
	return pack{w, w, w, w}
}

func squares[T Float](v *[8]float32) float32 {
	s := v[0] * v[0]
	for i := 1; i < perPack[T](); i++ {
		s += v[i] * v[i]
	}
	return s
}

// finish stores (x - mean)·factor·weight + bias for each element x.
func finish[T Float, R line[T]](r R, weight, bias uint64, mean, factor float32, half Half) {
	r.back(func(x float32, at uint64) float32 {
		x = (x - mean) * factor
		if weight != 0 {
			x *= floatOf[T](half, weight+at)
		}
		if bias != 0 {
			x += floatOf[T](half, bias+at)
		}
		return x
	}, func(w *pack, at uint64) pack {
		// Both loads begin before one ends.
		var factors, summands pack
		if weight != 0 {
			factors = loadAny[T](weight + at)
		}
		if bias != 0 {
			summands = loadAny[T](bias + at)
		}
		v := floats[T](half, w)
		for i := range perPack[T]() {
			v[i] = (v[i] - mean) * factor
		}
		if weight != 0 {
			f := floats[T](half, &factors)
			for i := range perPack[T]() {
				v[i] *= f[i]
			}
		}
		if bias != 0 {
			f := floats[T](half, &summands)
			for i := range perPack[T]() {
				v[i] += f[i]
			}
		}
		return packed[T](half, r.pairs(), &v)
	})
}

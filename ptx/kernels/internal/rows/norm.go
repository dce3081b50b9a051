package rows

import "github.com/purecuda/cuda/ptx/gpu"

// Normed says how rows are normalized. If Centered is set, the mean is subtracted first. The addresses of
// Weight and Bias may be 0.
type Normed struct {
	Weight, Bias uint64
	Eps          float32
	Half         Half
	Centered     bool
}

// Norm divides each row by its root mean square, or by its standard deviation: see kernels.RMSNorm and
// kernels.LayerNorm.
func Norm[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, how Normed) {
	team, end := &Block{t}, endOf[T](src, rows, cols, srcPitch)
	eachRow(t, int(rows), int(cols), func(row, n int) {
		norm[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, end, int(cols), how)
	})
}

// NormInClusters is Norm for sm_90 and later. A cluster can share a row.
func NormInClusters[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, how Normed) {
	team, end := &Cluster{Block: Block{t}}, endOf[T](src, rows, cols, srcPitch)
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		norm[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), n, end, int(cols), how)
	})
}

// norm adds the distances of the elements to a number near the mean, and their squares. This takes one
// exchange, and loses little if the number is at most twice the standard deviation from the mean. If it is
// further away, the sums are repeated with the mean. If rows are not centered, the number is 0.
func norm[T Float, M Team](t gpu.Thread, team M, dst, src uint64, n int, end uint64, cols int, how Normed) {
	var sample pack
	if how.Centered {
		sample = sampleOf[T](src, n)
	}
	r := twiceOf[T](t, team, how.Half, src, n, end)
	// The sample is used after the copies of the row have started. Using it waits for its load.
	v := floats[T](how.Half, &sample)
	near := v[0]
	for i := 1; i < perPack[T](); i++ {
		near += v[i]
	}
	near *= 1 / float32(perPack[T]())
	var mean, squared float32
	for again := false; ; again = true {
		var sums pair
		r.forth(func(w *pack, own only) {
			v := floats[T](how.Half, w)
			for i := range perPack[T]() {
				v[i] -= near
			}
			within[T](&v, own, 0)
			s := v[0]
			for i := 1; i < perPack[T](); i++ {
				s += v[i]
			}
			sums[0] += s
			sums[1] += squares[T](&v)
		})
		sums = team.exchange(sums, pair{}, func(p pair) pair { return sumsOfWarp(t, p) })
		squared = sums[1] / float32(cols)
		if !how.Centered {
			break
		}
		d := sums[0] / float32(cols)
		mean = near + d
		squared -= d * d
		if squared < 0 { // not if it is NaN
			squared = 0
		}
		if far := !(d*d <= 4*squared); again || !gpu.Any(t, far) {
			break
		}
		near = mean
	}
	finish(r, dst, how.Weight, how.Bias, mean, gpu.ApproxRsqrt(squared+how.Eps))
}

// sampleOf returns a pack whose mean is likely to be near the mean of a row: one from the middle of it. In a
// short row, it repeats the first element.
func sampleOf[T Float](row uint64, n int) (w pack) {
	if p := spanOf[T](row, n); p.packs > 2 {
		return *words(p.first + uint64(p.packs)/2*16)
	}
	if n > 0 {
		if Size[T]() == 4 {
			w[0] = *value[uint32](row)
		} else {
			w[0] = uint32(*value[uint16](row)) * 0x10001
		}
		w = pack{w[0], w[0], w[0], w[0]}
	}
	return w
}

func squares[T Float](v *[8]float32) float32 {
	s := v[0] * v[0]
	for i := 1; i < perPack[T](); i++ {
		s += v[i] * v[i]
	}
	return s
}

// finish stores (x - mean)·factor·weight + bias for each element x.
func finish[T Float, M Team](r *twice[T, M], dst, weight, bias uint64, mean, factor float32) {
	half := r.half
	r.back(func(w *pack, at uint64, own only) {
		// Both loads begin before one ends.
		var factors, summands pack
		if weight != 0 {
			factors = loadAny[T](weight+at, own)
		}
		if bias != 0 {
			summands = loadAny[T](bias+at, own)
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
		storeAny[T](dst+at, packed[T](half, r.team.pairs(), &v), own)
	})
}

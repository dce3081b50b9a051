package rows

import "github.com/purecuda/cuda/ptx/gpu"

// RMSNorm divides each row by its root mean square: see kernels.RMSNorm. The address of weight may be
// 0.
func RMSNorm[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Block{t}
	eachRow(t, int(rows), int(cols), func(row, n int) {
		rms[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), weight, n, int(cols), eps, half)
	})
}

// RMSNormInClusters is RMSNorm for sm_90 and later. A cluster can share a row.
func RMSNormInClusters[T Float](t gpu.Thread, dst, src, weight, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Cluster{Block: Block{t}}
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		rms[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), weight, n, int(cols), eps, half)
	})
}

func rms[T Float, M Team](t gpu.Thread, team M, dst, src, weight uint64, n, cols int, eps float32, half Half) {
	var sum float32
	r := twiceOf[T](t, team, half, src, n, cols)
	r.forth(func(x float32) { sum += x * x }, func(w *pack) {
		v := floats[T](half, w)
		sum += squares[T](&v)
	})
	finish(r, dst, weight, 0, 0, gpu.ApproxRsqrt(added(t, team, sum)/float32(cols)+eps))
}

// LayerNorm moves each row to the mean 0 and the variance 1: see kernels.LayerNorm. The addresses of
// weight and bias may be 0.
func LayerNorm[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Block{t}
	eachRow(t, int(rows), int(cols), func(row, n int) {
		layer[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), weight, bias, n, int(cols), eps, half)
	})
}

// LayerNormInClusters is LayerNorm for sm_90 and later. A cluster can share a row.
func LayerNormInClusters[T Float](t gpu.Thread, dst, src, weight, bias, rows, cols, dstPitch, srcPitch uint64, eps float32, half Half) {
	team := &Cluster{Block: Block{t}}
	eachRowOfClusters(team, int(rows), int(cols), func(row, n int) {
		layer[T](t, team, dst+offset[T](row, dstPitch), src+offset[T](row, srcPitch), weight, bias, n, int(cols), eps, half)
	})
}

func layer[T Float, M Team](t gpu.Thread, team M, dst, src, weight, bias uint64, n, cols int, eps float32, half Half) {
	var own moments
	r := twiceOf[T](t, team, half, src, n, cols)
	r.forth(func(x float32) { own.add(1, x, 0) }, func(w *pack) {
		v := floats[T](half, w)
		m := v[0]
		for i := 1; i < perPack[T](); i++ {
			m += v[i]
		}
		m *= 1 / float32(perPack[T]())
		for i := range perPack[T]() {
			v[i] -= m
		}
		own.add(float32(perPack[T]()), m, squares[T](&v))
	})
	mean := added(t, team, own.n*own.mean) / float32(cols)
	d := own.mean - mean
	squared := added(t, team, own.squared+own.n*d*d)
	finish(r, dst, weight, bias, mean, gpu.ApproxRsqrt(squared/float32(cols)+eps))
}

// moments is the mean of n values and the sum of the squares of their distances to it. Packs are added
// by their own moments, which loses nothing if the mean is far from 0.
type moments struct{ n, mean, squared float32 }

func (m *moments) add(n, mean, squared float32) {
	d := mean - m.mean
	part := gpu.ApproxDiv(n, m.n+n)
	m.mean += d * part
	m.squared += squared + d*d*part*m.n
	m.n += n
}

// added returns the sum of the values of a team.
func added[M Team](t gpu.Thread, team M, v float32) float32 {
	return team.exchange(pair{v, 0}, pair{}, func(p pair) pair { return pair{sumOfWarp(t, p[0]), 0} })[0]
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
	r.back(func(x float32, at uint64) {
		x = (x - mean) * factor
		if weight != 0 {
			x *= floatOf[T](half, weight+at)
		}
		if bias != 0 {
			x += floatOf[T](half, bias+at)
		}
		setFloat[T](half, dst+at, x)
	}, func(w *pack, at uint64) {
		v := floats[T](half, w)
		for i := range perPack[T]() {
			v[i] = (v[i] - mean) * factor
		}
		if weight != 0 {
			w := loadAny[T](weight + at)
			f := floats[T](half, &w)
			for i := range perPack[T]() {
				v[i] *= f[i]
			}
		}
		if bias != 0 {
			w := loadAny[T](bias + at)
			f := floats[T](half, &w)
			for i := range perPack[T]() {
				v[i] += f[i]
			}
		}
		storeAny[T](dst+at, packed[T](half, r.team.pairs(), &v))
	})
}

package rows

import "github.com/purecuda/cuda/ptx/gpu"

// Scaled says what Gemv does with x. If On is not 0, it multiplies the results by 1/sqrt(mean(x²) + Eps),
// and each element of x by that of Weight, unless the address is 0.
type Scaled struct {
	Weight uint64
	Eps    float32
	On     uint32
}

// Gemv multiplies a matrix by a vector: see kernels.Gemv and kernels.GemvRMSNorm. The elements of the matrix have one
// type, and those of x, y and the weight another. Kernels are compiled for the types, so branches on them take no time:
// see package variant. A team takes two rows at a time. If they have the same alignment, what it loads of x serves both.
func Gemv(t gpu.Thread, y, a, x, rows, cols, pitch uint64, matrix, vector Half, by Scaled) {
	team := &Block{t: t}
	pitch <<= matrix.log()
	alike := pitch%16 == 0
	eachRow(t, int((rows+1)/2), int(cols), func(pairOfRows, n int) {
		r := 2 * pairOfRows
		row := a + uint64(r)*pitch
		next, both := row+pitch, r+1 < int(rows)
		var s pair
		var squared float32
		for i := 0; ; i++ {
			var u, v float32
			u, v, squared = products(t, row, next, x, n, both && alike, matrix, vector, by)
			if alike {
				s = pair{u, v}
				break
			}
			if i == 1 {
				s[1] = u
				break
			}
			s[0] = u
			if !both {
				break
			}
			row = next
		}
		factor, sums := float32(1), pair{squared, 0}
		for last := by.On == 0; ; last = true { // two turns, so that the code is there once
			if last {
				sums = s
			}
			sums = team.exchange(sums, pair{}, func(p pair, width uint32) pair { return sumsOf(t, p, width) })
			if last {
				break
			}
			factor = gpu.ApproxRsqrt(sums[0]/float32(max(int(cols), 1)) + by.Eps)
		}
		if t.ThreadX() == 0 {
			//gpu:unroll 1
			for end := min(r+2, int(rows)); r < end; r++ {
				vector.set(y+uint64(r)<<vector.log(), factor*sums[0])
				sums[0] = sums[1]
			}
		}
	})
}

// products returns the sums of the products of a thread for a row, and for the next one if both is set. It
// also returns the sum of the squares of its elements of x.
func products(t gpu.Thread, row, next, x uint64, n int, both bool, matrix, vector Half, by Scaled) (sum, sumOfNext, squared float32) {
	log, vectorLog := matrix.log(), vector.log()
	perPack := 4 - log // logarithm of the number of elements of a pack
	head := min(int(-row&15>>log), n)
	packs := uint64(n-head) >> perPack
	tail := int(packs << perPack)
	rank, size := t.ThreadX(), t.BlockDimX()
	for i := rank; i < n-tail; i += size {
		asIs()
		at := uint64(i)
		if i >= head {
			at += uint64(tail)
		}
		f := vector.at(x + at<<vectorLog)
		squared += f * f
		if by.Weight != 0 {
			f *= vector.at(by.Weight + at<<vectorLog)
		}
		sum += matrix.at(row+at<<log) * f
		if both {
			sumOfNext += matrix.at(next+at<<log) * f
		}
	}
	if !both {
		next = row
	}
	distance := next - row
	wide := matrix == F32   // whether a pack has 4 elements instead of 8
	weight := by.Weight - x // from elements of x to those of the weight
	x += uint64(head)<<vectorLog + uint64(rank)*16
	perTurn := uint64(size) * 16
	xPerTurn, second := perTurn, uint64(0)
	if vector == F32 && !wide { // a pack of the matrix needs two packs of x
		x += uint64(rank) * 16
		xPerTurn, second = uint64(size)*32, 16
	}
	first := row + uint64(head)<<log
	after := first + packs*16
	for at := first + uint64(rank)*16; at < after; at += 2 * perTurn {
		asIs()
		// Two packs of each row are loaded at once. If they were loaded while others are used, and then copied, the
		// copy would wait for them.
		step, xStep := uint64(0), uint64(0)
		more := at+perTurn < after
		if more {
			step, xStep = perTurn, xPerTurn
		}
		v, w := *words(at), *words(at + distance)
		nextV, nextW := *words(at + step), *words(at + step + distance)
		xs, xs2 := vector.load(x, second, true)
		nextXs, nextXs2 := vector.load(x+xStep, second, true)
		for ; ; x += xPerTurn {
			asIs()
			f := vector.floats(&xs, &xs2)
			if by.On != 0 {
				s := f[0] * f[0]
				for i := 1; i < 4; i++ {
					s += f[i] * f[i]
				}
				if !wide {
					for i := 4; i < 8; i++ {
						s += f[i] * f[i]
					}
				}
				squared += s
				if by.Weight != 0 {
					weights, weights2 := vector.load(x+weight, second, false)
					factors := vector.floats(&weights, &weights2)
					for i := range f {
						f[i] *= factors[i]
					}
				}
			}
			a, b := matrix.floats(&v, &v), matrix.floats(&w, &w)
			var s, u float32
			for i := range 4 {
				s += a[i] * f[i]
				u += b[i] * f[i]
			}
			if !wide {
				for i := 4; i < 8; i++ {
					s += a[i] * f[i]
					u += b[i] * f[i]
				}
			}
			sum += s
			sumOfNext += u
			if !more {
				break
			}
			v, w, xs, xs2, more = nextV, nextW, nextXs, nextXs2, false
		}
		x += xPerTurn
	}
	return sum, sumOfNext, squared
}

// load returns a pack of elements that may begin at any element, and for float32 also the pack at a distance from it.
// Other types do not use the second pack, and ptxas removes its load. With ahead, they have a loop for the elements.
// Without the loop, ptxas makes no branch, and later loads wait for this one.
func (h Half) load(at, distance uint64, ahead bool) (w, u pack) {
	switch {
	case at&15 == 0:
		return *words(at), *words(at + distance)
	case h == F32:
		return singles(at), singles(at + distance)
	case ahead:
		for end := at + 16; at < end; at += 4 {
			asIs()
			w = pack{w[1], w[2], w[3], uint32(*value[uint16](at)) | uint32(*value[uint16](at + 2))<<16}
		}
	default:
		v := gpu.ViewAt[uint16](at, 8).Slice()
		for i := range w {
			w[i] = uint32(v[2*i]) | uint32(v[2*i+1])<<16
		}
	}
	return w, pack{}
}

// singles returns the words at an address that is not a multiple of 16.
func singles(at uint64) (w pack) {
	v := gpu.ViewAt[uint32](at, 4).Slice()
	for i := range w {
		w[i] = v[i]
	}
	return w
}

package rows

import "github.com/purecuda/cuda/ptx/gpu"

// Scaled says what Gemv does with x. If On is not 0, it multiplies the results by 1/sqrt(mean(x²) + Eps),
// and each element of x by that of Weight, unless the address is 0.
type Scaled struct {
	Weight uint64
	Eps    float32
	On     uint32
}

// Gemv multiplies a matrix by a vector: see kernels.Gemv and kernels.GemvRMSNorm. A team takes two rows at
// a time. If they have the same alignment, what it loads of x serves both.
func Gemv[A, X Float](t gpu.Thread, y, a, x, rows, cols, pitch uint64, half Half, by Scaled) {
	team := &Block{t: t}
	alike := pitch*uint64(Size[A]())%16 == 0
	eachRow(t, int((rows+1)/2), int(cols), func(pairOfRows, n int) {
		r := 2 * pairOfRows
		row := a + offset[A](r, pitch)
		next, both := row+offset[A](1, pitch), r+1 < int(rows)
		var s pair
		var squared float32
		for i := 0; ; i++ {
			var u, v float32
			u, v, squared = products[A, X](team, row, next, x, n, both && alike, half, by)
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
		if t.ThreadX() == 0 && r < int(rows) {
			setFloat[X](half, y+offset[X](r, 1), factor*sums[0])
			if both {
				setFloat[X](half, y+offset[X](r+1, 1), factor*sums[1])
			}
		}
	})
}

// products returns the sums of the products of a thread for a row, and for the next one if both is set. It
// also returns the sum of the squares of its elements of x.
func products[A, X Float](team *Block, row, next, x uint64, n int, both bool, half Half, by Scaled) (sum, sumOfNext, squared float32) {
	p := partsOf[A](row, n)
	rank, size := team.t.ThreadX(), team.t.BlockDimX()
	for i := rank; i < p.singles; i += size {
		asIs()
		at := p.single(i)
		f := floatOf[X](half, x+offset[X](at, 1))
		squared += f * f
		if by.Weight != 0 {
			f *= floatOf[X](half, by.Weight+offset[X](at, 1))
		}
		sum += floatOf[A](half, row+offset[A](at, 1)) * f
		if both {
			sumOfNext += floatOf[A](half, next+offset[A](at, 1)) * f
		}
	}
	if !both {
		next = row
	}
	distance := next - row
	perTurn, xPerTurn := uint64(size)*16, offset[X](size*perPack[A](), 1)
	after := p.first + uint64(p.packs)*16
	weight := by.Weight - x // from elements of x to those of the weight
	x += offset[X](p.begin+rank*perPack[A](), 1)
	for at := p.first + uint64(rank)*16; at < after; at += 2 * perTurn {
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
		xs, nextXs := loadVector[X](x), loadVector[X](x+xStep)
		var xs2, nextXs2 pack
		if perPack[A]() != perPack[X]() {
			xs2, nextXs2 = loadVector[X](x+16), loadVector[X](x+xStep+16)
		}
		for ; ; x += xPerTurn {
			asIs()
			f := floats[X](half, &xs)
			if perPack[A]() != perPack[X]() {
				g := floats[X](half, &xs2)
				f = [8]float32{f[0], f[1], f[2], f[3], g[0], g[1], g[2], g[3]}
			}
			if by.On != 0 {
				squared += squares[A](&f)
				if by.Weight != 0 {
					w := factors[A, X](half, x+weight)
					for i := range perPack[A]() {
						f[i] *= w[i]
					}
				}
			}
			a := floats[A](half, &v)
			b := floats[A](half, &w)
			var s, u float32
			for i := range perPack[A]() {
				s += a[i] * f[i]
				u += b[i] * f[i]
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

// loadVector is loadAny with a loop for elements of 16 bits whose pack has another alignment. Without the loop, ptxas
// makes no branch, and later loads wait for this one.
func loadVector[T Float](at uint64) (w pack) {
	if Size[T]() == 4 || at&15 == 0 {
		return loadAny[T](at)
	}
	for end := at + 16; at < end; at += 4 {
		asIs()
		w = pack{w[1], w[2], w[3], uint32(*value[uint16](at)) | uint32(*value[uint16](at + 2))<<16}
	}
	return w
}

// factors loads the elements of x for a pack of elements of type A.
func factors[A, X Float](half Half, at uint64) (f [8]float32) {
	w := loadAny[X](at)
	f = floats[X](half, &w)
	if perPack[A]() > perPack[X]() {
		w := loadAny[X](at + 16)
		v := floats[X](half, &w)
		for i := range 4 {
			f[4+i] = v[i]
		}
	}
	return f
}

func squares[T Float](v *[8]float32) float32 {
	s := v[0] * v[0]
	for i := 1; i < perPack[T](); i++ {
		s += v[i] * v[i]
	}
	return s
}

// Package fft contains the kernel of Fourier transforms of complex numbers of 2 float32.
package fft

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// A thread computes 16 points of a transform. The threads of a block compute one or several
// transforms, and exchange numbers through dynamic shared memory, which has eight bytes for each
// point.
const (
	Each    = 1 << eachLog
	MostRow = 1024 * Each // points of a transform of one launch, with 128 KiB of shared memory

	eachLog = 4
)

// The modes of Transform.
const (
	Rows    = iota // transforms the rows of a matrix
	Columns        // transforms the columns of matrices
	Rest           // transforms the rows of matrices after Columns, and transposes the matrices
)

// Transform transforms rows of 2^log numbers. With Columns and Rest, two launches transform longer rows. Such
// a row is a matrix. The first launch transforms its columns. The second launch transforms its rows, in
// a way that continues the transform of the row, and transposes the matrix. other is the other length of a
// matrix. A block computes 2^logLanes columns, or rows, so that it accesses at least 32 adjacent bytes.
//
// length is the length of dst and src. The imaginary parts of src are multiplied by sign, and the parts of the
// results by re and im. An inverse transform is a transform of conjugate numbers with conjugate results.
//
//gpu:kernel maxblock=1024 name=fft
func Transform(t gpu.Thread, dst, src, length uint64, log, other, logLanes, mode uint32, sign, re, im float32) {
	tid := uint32(t.ThreadX())
	f := transform{shared: gpu.DynamicShared[[2]float32](t), bits: (log-1)%eachLog + 1}
	// With eight points, a thread has two transforms.
	logPart := max(log, eachLog) - eachLog
	part := uint32(1) << (logPart & 31)
	f.logPart = logPart

	// Threads that are numbered by rows access adjacent points of a row.
	row, j := tid>>(logPart&31), tid&(part-1)
	f.j, f.from, f.to = j, row<<(log&31), row<<(log&31)
	x := uint64(t.BlockX())*uint64(t.BlockDimX())*Each + uint64(row)<<((logPart+eachLog)&31) + uint64(j)
	y := x
	low, stepX, stepY := part, 2*part, part
	if log < eachLog {
		low, stepX = 8, 1
	}
	if mode != Rows {
		// Threads that are numbered by lanes access points of adjacent rows or columns.
		lane, point := tid&(1<<(logLanes&31)-1), tid>>(logLanes&31)
		blocks := other - logLanes // of a matrix, as a power of two
		begin := uint32(t.BlockX()) & (1<<(blocks&31) - 1) << (logLanes & 31)
		matrix := uint64(t.BlockX()) >> (blocks & 31) << ((log + other) & 31)
		y = matrix + uint64(point<<(other&31)+begin+lane)
		x = y
		stepY = part << (other & 31)
		low, stepX = stepY, 2*stepY
		f.logStride, f.from, f.to = logLanes, lane, lane
		if mode == Rest {
			x = matrix + uint64((begin+row)<<(log&31)+j)
			low, stepX = part, 2*part
			f.logBefore, f.before = other, begin+row
			f.from = row
			f.next, f.nextBefore = point, begin+lane
		} else {
			f.j = point
		}
	}
	if mode != Rest {
		f.next = f.j
	}

	var v [Each]complex64
	if x < length {
		second := src + 8*(x+uint64(low))
		if x+uint64(low) >= length {
			second = src + 8*x // it is in another row, after the last one
		}
		for r := range uint32(Each) {
			base := src + 8*x
			if r%2 != 0 {
				base = second
			}
			a := *number(base + uint64(8*stepX)*uint64(r/2))
			v[r] = complex(a[0], sign*a[1])
		}
	}
	v = f.run(t, log, v)
	if y < length {
		other := y+Each/2*uint64(stepY) < length // or they are in another row, after the last one
		for q := range uint64(Each) {
			if q < Each/2 || other {
				a := v[reversed(q)]
				*number(dst + 8*y + uint64(8*stepY)*q) = [2]float32{re * real(a), im * imag(a)}
			}
		}
	}
}

// number returns the number at an address.
func number(at uint64) *[2]float32 { return (*[2]float32)(gpu.ViewAt[float32](at, 2).Slice()) }

// reversed returns the four bits of i in reverse order.
func reversed(i uint64) uint64 { return i&1<<3 | i&2<<1 | i&4>>1 | i>>3 }

// transform is the part of a transform that belongs to a thread.
type transform struct {
	shared  [][2]float32
	logPart uint32
	bits    uint32 // the first pass combines 2^bits points
	// The thread has points j, j+part, and so on. Point p of a row is number from + p<<logStride in shared
	// memory. After the first exchange, the thread has point next of the row that begins at to.
	j, from, next, to, logStride uint32
	// The results of 2^logBefore transforms are combined, and j belongs to result before of them.
	before, nextBefore, logBefore uint32
}

// run transforms the points by Stockham's algorithm. The first pass combines 2, 4, 8 or 16 points, and each
// further pass combines 16 transforms of ns points. Result q is at index reversed(q), or, if a transform has eight
// points, at the reverse of q in three bits, times two, plus the number of the transform.
func (f *transform) run(t gpu.Thread, log uint32, v [Each]complex64) [Each]complex64 {
	var reads [eachLog]uint32
	for b := range reads {
		reads[b] = f.power(f.logPart + uint32(b))
	}
	bits, logNs := f.bits, uint32(0)
	j, before := f.j, f.before
	for {
		k := j & (1<<(logNs&31) - 1)
		angle := float32(before+k<<(f.logBefore&31)) * math.Float32frombits((127-logNs-f.logBefore)<<23)
		v = combine(v, angle, bits)
		if logNs+bits >= log {
			return v
		}
		if logNs > 0 {
			t.Sync()
		}
		// A bit of an index is a bit of the result of the pass, or it selects one of several results.
		var writes [eachLog]uint32
		for b := range uint32(eachLog) {
			p := logNs + eachLog - 1 - b
			if eachLog-1-b >= bits {
				p = f.logPart + bits + b
			}
			writes[b] = f.power(p)
		}
		at := swizzle(f.from + (k+(j-k)<<(bits&31))<<(f.logStride&31))
		for r := range v {
			f.shared[at^selected(writes, r)] = [2]float32{real(v[r]), imag(v[r])}
		}
		t.Sync()
		j, before, f.from = f.next, f.nextBefore, f.to
		// The compiler must not know that this adds 0: it would compute the indices only once, and keep them in
		// too many registers.
		at = swizzle(f.from+j<<(f.logStride&31)) + logNs>>31
		for r := range v {
			a := f.shared[at^selected(reads, r)]
			v[r] = complex(a[0], a[1])
		}
		logNs += bits
		bits = eachLog
	}
}

// power returns the index in shared memory of point 2^log of a row that begins at 0.
func (f *transform) power(log uint32) uint32 {
	log += f.logStride
	return 1<<(log&31) ^ uint32(swizzles>>(4*log&63))&15
}

// selected returns the exclusive or of the numbers whose bits in r are 1.
func selected(of [eachLog]uint32, r int) (x uint32) {
	for b := range of {
		if r>>b&1 != 0 {
			x ^= of[b]
		}
	}
	return x
}

// swizzles has, for each bit of an index, the bits that it changes in the swizzled index, besides itself.
const swizzles uint64 = 0x84218ca90000

// swizzle returns the index in shared memory of number i. Its lowest four bits depend on higher ones, so that 16
// threads access 16 different pairs of banks: four adjacent bits of i, or the bits 0 to 2 and one of 3 to 7, change
// them to 16 different values. The swizzle of an exclusive or is the exclusive or of the swizzles.
func swizzle(i uint32) uint32 { return i ^ (i>>4^i>>8)&15 ^ (i>>1^i>>2^i>>3)&8 }

// combine combines 2^bits points in as many stages. The twiddle factor of a stage has half of the angle of the
// stage before. The first one has the given angle, in units of -π.
func combine(v [Each]complex64, angle float32, bits uint32) [Each]complex64 {
	// im is the sine, rounded, rest what it lacks, and one the cosine minus 1. Otherwise an error in the first
	// sine would be eight times as large in the last one, and the same results would have it after each pass.
	var w [eachLog]complex64
	square := angle * angle
	const high = 0.3926990926265717 // a float32
	low := high - 0.392699081693956 + square*(0.010093188870948042+square*(-7.782406720305572e-05+square*2.845298827467597e-07))
	small := angle * low
	im := math32.FMA(-angle, high, small)
	rest := math32.FMA(-angle, high, -im) + small
	one := square * (-0.0771062839462989 + square*(0.0009908886446686536+square*-5.072623546394555e-06))
	for s := range w {
		w[eachLog-1-s] = complex(1+one, im)
		double, twice := im+im, rest+rest
		small := double*one + twice
		one = -double*im - double*twice
		im = double + small
		rest = (double - im) + small
	}
	if bits == eachLog { // without branches between the stages
		return stage(stage(stage(stage(v, 0, w[0]), 1, w[1]), 2, w[2]), 3, w[3])
	}
	v = stage(v, 0, w[0])
	if bits > 1 {
		v = stage(v, 1, w[1])
		if bits > 2 {
			v = stage(v, 2, w[2])
		}
	}
	return v
}

// stage combines pairs of numbers. w is the twiddle factor of the first pairs.
func stage(v [Each]complex64, s int, w complex64) [Each]complex64 {
	distance := Each / 2 >> s
	for g := range 1 << s {
		turned := turn(w, reversed(uint64(g)<<(eachLog-s))*Each/2>>s)
		for r := range distance {
			butterfly(&v[2*distance*g+r], &v[2*distance*g+r+distance], turned)
		}
	}
	return v
}

// butterfly replaces u and v by u + w*v and u - w*v. The difference is computed from the sum, which takes two
// instructions less.
func butterfly(u, v *complex64, w complex64) {
	re := real(*u) + real(w)*real(*v) - imag(w)*imag(*v)
	im := imag(*u) + real(w)*imag(*v) + imag(w)*real(*v)
	*u, *v = complex(re, im), complex(2*real(*u)-re, 2*imag(*u)-im)
}

// turn multiplies w by power p of the 16th root of one, up to 7.
func turn(w complex64, p uint64) complex64 {
	const (
		half = 0.70710678118654752440 // the square root of 1/2
		c, s = 0.92387953251128675613, 0.38268343236508977173
	)
	a, b := real(w), imag(w)
	switch p % 4 {
	case 1:
		a, b = c*a+s*b, c*b-s*a
	case 2:
		a, b = half*(a+b), half*(b-a)
	case 3:
		a, b = s*a+c*b, s*b-c*a
	}
	if p >= 4 {
		a, b = b, -a
	}
	return complex(a, b)
}

// Package fft contains the kernels of Fourier transforms of complex numbers of 2 float32.
package fft

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// A thread computes eight points of a transform. The threads of a block compute one or several
// transforms, and exchange numbers through dynamic shared memory, which has eight bytes for each
// point.
const (
	Each     = 8
	MostRow  = 8192 // points of a transform of one launch, with 64 KiB of shared memory
	MostPart = 1024 // points of each of two launches that compute a longer transform
	Lanes    = 8    // transforms of a block of two launches, so that it accesses 64 bytes at a time
)

// transform is the part of a transform that belongs to a thread.
type transform struct {
	shared []float32
	length uint32 // points, a power of two
	j      uint32 // the thread has points j, j+length/8, and so on
	// Point p is number offset+p*stride in shared memory.
	offset, stride uint32
}

// at returns the index of a point in shared memory. The low bits depend on higher ones, so that points
// at distances of powers of two are in different banks.
func (f *transform) at(point uint32) uint32 {
	i := f.offset + point*f.stride
	return 2 * (i ^ i>>4&7 ^ i>>3&8)
}

func (f *transform) set(point uint32, v complex64) {
	*(*[2]float32)(f.shared[f.at(point):]) = [2]float32{real(v), imag(v)}
}

func (f *transform) get(point uint32) complex64 {
	v := *(*[2]float32)(f.shared[f.at(point):])
	return complex(v[0], v[1])
}

// run transforms the points. The first pass combines 2, 4 or 8 points, and each further pass combines
// eight transforms of ns points.
func (f *transform) run(t gpu.Thread, log uint32, v [Each]complex64) [Each]complex64 {
	j, part := f.j, f.length/Each
	ns := uint32(8)
	switch log % 3 {
	case 1:
		ns = 2
		for b := range uint32(4) {
			v[b], v[b+4] = v[b]+v[b+4], v[b]-v[b+4]
			f.set(2*(j+b*part), v[b])
			f.set(2*(j+b*part)+1, v[b+4])
		}
	case 2:
		ns = 4
		for b := range uint32(2) {
			x := fft4([4]complex64{v[b], v[b+2], v[b+4], v[b+6]})
			for r := range uint32(4) {
				f.set(4*(j+b*part)+r, x[r])
			}
		}
	default:
		v = fft8(v)
		if ns == f.length {
			return v
		}
		for r := range uint32(8) {
			f.set(8*j+r, v[r])
		}
	}
	for {
		t.Sync()
		for r := range uint32(8) {
			v[r] = f.get(j + r*part)
		}
		k := j & (ns - 1)
		v = turn(v, float32(k)*(-0.25/float32(ns)))
		v = fft8(v)
		if 8*ns == f.length {
			return v
		}
		t.Sync()
		for r := range uint32(8) {
			f.set(8*(j-k)+k+r*ns, v[r])
		}
		ns *= 8
	}
}

// turn multiplies v[r] by the power r of the root with the given angle, in units of π.
func turn(v [Each]complex64, angle float32) [Each]complex64 {
	w := root(angle)
	w2 := times(w, w)
	w3, w4 := times(w2, w), times(w2, w2)
	return [Each]complex64{
		v[0], times(v[1], w), times(v[2], w2), times(v[3], w3), times(v[4], w4),
		times(v[5], times(w4, w)), times(v[6], times(w3, w3)), times(v[7], times(w4, w3)),
	}
}

func root(angle float32) complex64 { return complex(math32.Cospi(angle), math32.Sinpi(angle)) }

// times returns the product, computed in float32. Go's complex64 multiplication would compute in
// float64.
func times(a, b complex64) complex64 {
	return complex(real(a)*real(b)-imag(a)*imag(b), real(a)*imag(b)+imag(a)*real(b))
}

// fft4 transforms four numbers.
func fft4(v [4]complex64) [4]complex64 {
	a, b, c, d := v[0]+v[2], v[0]-v[2], v[1]+v[3], v[1]-v[3]
	d = complex(imag(d), -real(d))
	return [4]complex64{a + c, b + d, a - c, b - d}
}

// fft8 transforms eight numbers.
func fft8(v [8]complex64) [8]complex64 {
	const half = 0.70710678118654752440 // the square root of 1/2
	a := fft4([4]complex64{v[0], v[2], v[4], v[6]})
	b := fft4([4]complex64{v[1], v[3], v[5], v[7]})
	b[1] = complex(half*(real(b[1])+imag(b[1])), half*(imag(b[1])-real(b[1])))
	b[2] = complex(imag(b[2]), -real(b[2]))
	b[3] = complex(half*(imag(b[3])-real(b[3])), -half*(imag(b[3])+real(b[3])))
	return [8]complex64{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}
}

// load reads a number. With swap, the real and the imaginary part are exchanged. An inverse transform is
// a transform of swapped numbers with swapped results.
func load(x []float32, i int, swap uint32) complex64 {
	v := *(*[2]float32)(x[2*i:])
	if swap != 0 {
		return complex(v[1], v[0])
	}
	return complex(v[0], v[1])
}

func store(x []float32, i int, v complex64, scale float32, swap uint32) {
	a, b := scale*real(v), scale*imag(v)
	if swap != 0 {
		a, b = b, a
	}
	*(*[2]float32)(x[2*i:]) = [2]float32{a, b}
}

// Rows transforms rows of 2^log numbers.
//
//gpu:kernel maxblock=1024 name=fft_rows
func Rows(t gpu.Thread, dst, src, rows uint64, log uint32, scale float32, inverse uint32) {
	length := uint32(1) << (log & 31)
	threads := length / Each // of a row
	tid := uint32(t.ThreadX())
	row := tid >> ((log - 3) & 31)
	f := transform{shared: gpu.DynamicShared[float32](t), length: length, j: tid & (threads - 1), offset: row * length, stride: 1}
	of := t.BlockX()*t.BlockDimX()>>((log-3)&31) + int(row)
	have := of < int(rows)
	all := 2 * int(rows) << (log & 31)
	x, y := gpu.ViewAt[float32](src, all).Slice(), gpu.ViewAt[float32](dst, all).Slice()
	first := of<<(log&31) + int(f.j)
	var v [Each]complex64
	if have {
		for r := range Each {
			v[r] = load(x, first+r*int(threads), inverse)
		}
	}
	v = f.run(t, log, v)
	if have {
		for r := range Each {
			store(y, first+r*int(threads), v[r], scale, inverse)
		}
	}
}

// Parts is one of two launches that transform rows of 2^(log1+log2) numbers. A row is a matrix of 2^log1
// rows and 2^log2 columns. The first launch transforms the columns, and multiplies the result by the
// roots that are between the two launches. The second launch transforms the rows of the matrix, and
// transposes the result. A block computes lanes columns, or rows.
//
//gpu:kernel maxblock=1024 name=fft_parts
func Parts(t gpu.Thread, dst, src, rows uint64, log1, log2, logLanes uint32, scale float32, inverse, second uint32) {
	if rows == 0 {
		return // the launch has one block
	}
	height, columns := uint32(1)<<(log1&31), uint32(1)<<(log2&31)
	log, logBlocks, swap := log1, log2-logLanes, inverse
	if second != 0 {
		log, logBlocks, swap = log2, log1-logLanes, 0
	}
	length, lanes := uint32(1)<<(log&31), uint32(1)<<(logLanes&31)
	part := length / Each
	all := 2 * int(rows) << ((log1 + log2) & 31)
	x, y := gpu.ViewAt[float32](src, all).Slice(), gpu.ViewAt[float32](dst, all).Slice()
	matrix := t.BlockX() >> (logBlocks & 31) << ((log1 + log2) & 31)
	begin := (uint32(t.BlockX()) & (1<<(logBlocks&31) - 1)) << (logLanes & 31)
	tid := uint32(t.ThreadX())
	lane, j := tid&(lanes-1), tid>>(logLanes&31)
	f := transform{shared: gpu.DynamicShared[float32](t), length: length, j: j, offset: lane, stride: lanes}
	first, step := matrix+int(j*columns+begin+lane), int(part*columns)
	if second != 0 {
		row := tid >> ((log - 3) & 31)
		f.j, f.offset, f.stride = tid&(part-1), row*length, 1
		first, step = matrix+int((begin+row)*length+f.j), int(part)
	}
	var v [Each]complex64
	for r := range Each {
		v[r] = load(x, first+r*step, swap)
	}
	v = f.run(t, log, v)
	if second == 0 {
		column := begin + lane
		scale := -2 / (float32(length) * float32(columns)) // a power of two, so the angles are exact
		base := root(float32(column*j) * scale)
		v = turn(v, float32(column*part)*scale)
		for r := range Each {
			store(y, first+r*step, times(v[r], base), 1, 0)
		}
		return
	}
	// Neighbouring threads write points of neighbouring rows.
	t.Sync()
	for r := range uint32(Each) {
		f.set(f.j+r*part, v[r])
	}
	t.Sync()
	f.offset = lane * length
	for r := range uint32(Each) {
		point := j + r*part
		store(y, matrix+int(point*height+begin+lane), f.get(point), scale, inverse)
	}
}

// Package quantized contains the kernels that multiply a matrix of small integers by a vector.
package quantized

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// A warp computes Rows rows. A lane reads Chunk columns of each of them at a time, so a warp reads
// Span. Several warps may share rows. The threads of a block load a tile of x at a time into shared
// memory.
const (
	Threads = 256
	Warps   = Threads / gpu.WarpSize
	Rows    = 4
	Chunk   = 32
	Span    = Chunk * gpu.WarpSize
	tile    = 4 * Span
	padded  = Chunk + 4 // floats for a chunk of x: so that lanes read different banks
	stride  = Threads / Chunk * padded
)

// Int8 computes y = a*x. An element of a is a signed integer of 8 bits, times the scale of its group of
// columns. group is the size of a group in chunks. 2^logSplit warps share rows. If normed is not 0, x is
// replaced by its RMS norm, whose weight may have the address 0. kind is the type of x, y, the scales and
// the weight.
//
//gpu:kernel block=256 minblocks=2 name=gemv_i8
func Int8(t gpu.Thread, y, a, scales, x uint64, rows, cols, group, logSplit uint32, weight uint64, eps float32, normed uint32, kind pack.Kind) {
	multiply(t, y, a, scales, x, rows, cols, group, logSplit, 8, norm{weight, eps, normed}, kind)
}

// Int4 is like Int8, for integers of 4 bits. The low half of a byte is an even column, and 8 stands
// for 0.
//
//gpu:kernel block=256 minblocks=2 name=gemv_i4
func Int4(t gpu.Thread, y, a, scales, x uint64, rows, cols, group, logSplit uint32, weight uint64, eps float32, normed uint32, kind pack.Kind) {
	multiply(t, y, a, scales, x, rows, cols, group, logSplit, 4, norm{weight, eps, normed}, kind)
}

// norm is the norm of x, if on is not 0.
type norm struct {
	weight uint64
	eps    float32
	on     uint32
}

func multiply(t gpu.Thread, dst, a, scales, src uint64, rows, cols, group, logSplit uint32, bits int, by norm, kind pack.Kind) {
	x := gpu.Shared[[tile / Chunk * padded]float32](t)
	parts := gpu.Shared[[Warps][Rows + 1]float32](t)
	words := int(cols) * bits / 32 // of a row
	groups := int(cols / Chunk / group)

	split := uint32(1) << (logSplit & 31)
	each := uint32(Warps*Rows) >> (logSplit & 31) // rows of a block
	part := uint32(t.Warp()) & (split - 1)
	first := uint32(t.BlockX())*each + uint32(t.Warp())>>(logSplit&31)*Rows
	log := uint32(2) // of the size of a scale
	if kind != pack.F32 {
		log = 1
	}
	var start, startScales [Rows]uint64 // addresses of each row; rows after the last one are the last one
	for r := range uint32(Rows) {
		row := int(min(first+r, rows-1))
		start[r], startScales[r] = a+uint64(row*words*4), scales+uint64(row*groups)<<log
	}
	load := func(column int) (w [Rows][2][4]uint32) {
		for r := range Rows {
			v := gpu.ViewAt[uint32](start[r]+uint64(uint32(column)/uint32(32/bits)*4), 8).Slice()
			w[r][0] = *(*[4]uint32)(v)
			if bits == 8 {
				w[r][1] = *(*[4]uint32)(v[4:])
			}
		}
		return w
	}
	// The compiler must not know that this is a constant: an instruction has room for only one.
	magic := uint32(two23Bits) | logSplit&(1<<31)
	var sum [Rows + 1]float32 // of each row, and of the squares of x
	for begin := 0; begin < int(cols); begin += tile {
		span := int(part) * Span
		// The integers are loaded ahead: the first ones while the block loads x.
		var w [Rows][2][4]uint32
		if column := begin + span + t.Lane()*Chunk; column < int(cols) {
			w = load(column)
		}
		t.Sync()
		v := loadTile(src, uint32(begin+t.ThreadX()), cols, kind)
		factor := float32(1)
		if bits == 4 {
			// An integer is taken from its place in a word, and so is 16, 256 or 4096 times too large.
			factor = math.Float32frombits(uint32(127-t.ThreadX()%4*4) << 23)
		}
		mine := x[t.ThreadX()/Chunk*padded+t.ThreadX()%Chunk:]
		for i := range v {
			mine[i*stride] = factor * v[i]
		}
		if by.on != 0 {
			//gpu:unroll 1
			for i := range v {
				at := begin + i*Threads + t.ThreadX()
				if at >= int(cols) {
					break
				}
				f := &mine[i*stride]
				sum[Rows] += *f * *f / (factor * factor)
				if by.weight != 0 {
					*f *= element(by.weight, int(cols), at, kind)
				}
			}
		}
		t.Sync()
		for span < tile {
			column := begin + span + t.Lane()*Chunk
			if column >= int(cols) {
				break
			}
			mine := x[(span/Chunk+t.Lane())*padded:]
			g := int(uint32(column) / Chunk / group)
			s := loadScales(&startScales, uint64(g)<<log, kind)
			span += int(split) * Span
			var next [Rows][2][4]uint32
			if ahead := column + int(split)*Span; span < tile && ahead < int(cols) {
				next = load(ahead)
			}
			// A loop of two turns has half of the code, and takes at most a few percent more time.
			var products [Rows]float32
			if bits == 4 {
				//gpu:unroll 1
				for range 2 {
					for i := range 2 {
						x0, x1 := *(*[4]float32)(mine[8*i:]), *(*[4]float32)(mine[8*i+4:])
						for r := range Rows {
							products[r] = dot4(products[r], w[r][0][i], x0, magic)
							products[r] = dot4(products[r], w[r][0][i]>>16, x1, magic)
						}
					}
					for r := range Rows {
						w[r][0][0], w[r][0][1] = w[r][0][2], w[r][0][3]
					}
					mine = mine[16:]
				}
			} else {
				//gpu:unroll 1
				for range 2 {
					for i := range 4 {
						x0 := *(*[4]float32)(mine[4*i:])
						for r := range Rows {
							products[r] = dot8(products[r], w[r][0][i]^0x80808080, x0)
						}
					}
					for r := range Rows {
						w[r][0] = w[r][1]
					}
					mine = mine[16:]
				}
			}
			for r := range Rows {
				sum[r] += s[r] * products[r]
			}
			w = next
		}
	}
	//gpu:unroll 1
	for d := gpu.WarpSize / 2; d > 0; d /= 2 {
		for r := range sum {
			sum[r] += gpu.ShuffleXor(t, sum[r], d)
		}
	}
	if t.Lane() == 0 {
		parts[t.Warp()] = sum
	}
	t.Sync()
	// A thread adds the parts of a row.
	if i := uint32(t.ThreadX()); i < each {
		var s float32
		for p := range split {
			s += parts[i/Rows*split+p][i%Rows]
		}
		if by.on != 0 {
			var squares float32
			for w := range parts {
				squares += parts[w][Rows]
			}
			s *= gpu.ApproxRsqrt(squares/float32(max(cols, 1)) + by.eps)
		}
		if row := uint32(t.BlockX())*each + i; row < rows {
			switch kind {
			case pack.F32:
				gpu.ViewAt[float32](dst, int(rows)).Set(int(row), s)
			case pack.F16:
				gpu.ViewAt[num.F16](dst, int(rows)).Set(int(row), num.ToF16(s))
			default:
				gpu.ViewAt[num.BF16](dst, int(rows)).Set(int(row), num.ToBF16(s))
			}
		}
	}
}

// two23 is a number whose bits end in those of a small integer that is added to it.
const (
	two23     = 1 << 23
	two23Bits = 0x4b000000
)

// andOr is the truth table of a&b|c.
const andOr = 0xea

// dot4 adds the products of four integers of 4 bits with x. They are at bits 0, 4, 8 and 12 of w.
func dot4(sum float32, w uint32, x [4]float32, bits uint32) float32 {
	sum += (math.Float32frombits(gpu.Lop3(w, 0xf, bits, andOr)) - (two23 + 8)) * x[0]
	sum += (math.Float32frombits(gpu.Lop3(w, 0xf0, bits, andOr)) - (two23 + 8<<4)) * x[1]
	sum += (math.Float32frombits(gpu.Lop3(w, 0xf00, bits, andOr)) - (two23 + 8<<8)) * x[2]
	return sum + (math.Float32frombits(gpu.Lop3(w, 0xf000, bits, andOr))-(two23+8<<12))*x[3]
}

// dot8 adds the products of four integers of 8 bits, plus 128, with x.
func dot8(sum float32, w uint32, x [4]float32) float32 {
	sum += (math.Float32frombits(gpu.BytePermute(w, two23Bits, 0x7650)) - (two23 + 128)) * x[0]
	sum += (math.Float32frombits(gpu.BytePermute(w, two23Bits, 0x7651)) - (two23 + 128)) * x[1]
	sum += (math.Float32frombits(gpu.BytePermute(w, two23Bits, 0x7652)) - (two23 + 128)) * x[2]
	return sum + (math.Float32frombits(gpu.BytePermute(w, two23Bits, 0x7653))-(two23+128))*x[3]
}

// loadTile loads the thread's elements of a tile of x. After the last column, they are the last element.
func loadTile(src uint64, first, cols uint32, kind pack.Kind) (v [tile / Threads]float32) {
	var at [tile / Threads]uint32
	for i := range at {
		at[i] = min(first+uint32(i*Threads), cols-1)
	}
	if kind == pack.F32 {
		x := gpu.ViewAt[float32](src, int(cols)).Slice()
		for i := range v {
			v[i] = x[at[i]]
		}
		return v
	}
	var bits [tile / Threads]uint16
	x := gpu.ViewAt[uint16](src, int(cols)).Slice()
	for i := range v {
		bits[i] = x[at[i]]
	}
	if kind == pack.F16 {
		for i := range v {
			v[i] = num.F16FromBits(bits[i]).Float32()
		}
		return v
	}
	for i := range v {
		v[i] = num.BF16FromBits(bits[i]).Float32()
	}
	return v
}

// loadScales loads the scales of a group of columns of each row, which are at an offset in bytes.
func loadScales(start *[Rows]uint64, offset uint64, kind pack.Kind) (v [Rows]float32) {
	if kind == pack.F32 {
		for r := range v {
			v[r] = gpu.ViewAt[float32](start[r]+offset, 1).At(0)
		}
		return v
	}
	var bits [Rows]uint16
	for r := range bits {
		bits[r] = *pack.Element[uint16](start[r] + offset)
	}
	if kind == pack.F16 {
		for r := range v {
			v[r] = num.F16FromBits(bits[r]).Float32()
		}
		return v
	}
	for r := range v {
		v[r] = num.BF16FromBits(bits[r]).Float32()
	}
	return v
}

// element loads one of n elements.
func element(src uint64, n, i int, kind pack.Kind) float32 {
	if kind == pack.F32 {
		return gpu.ViewAt[float32](src, n).At(i)
	}
	return kind.Float(gpu.ViewAt[uint16](src, n).At(i))
}

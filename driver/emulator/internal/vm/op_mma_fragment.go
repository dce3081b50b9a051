package vm

import (
	"math"

	"github.com/purecuda/cuda/ptx"
)

// The layout of matrices in registers. The ISA specifies the layouts of mma but not those of wmma.
// Those are as on an H200, so that programs that rely on the observed layouts get the same results.

// elemType is the type of a matrix's elements.
type elemType uint8

const (
	elemNone elemType = iota
	elemF16
	elemBF16
	elemTF32
	elemF32
	elemF64
	elemE4M3
	elemE5M2
	elemS8
	elemU8
	elemS4
	elemU4
	elemB1
	elemS32
)

var elemTypes = map[string]elemType{
	"f16": elemF16, "bf16": elemBF16, "tf32": elemTF32, "f32": elemF32, "f64": elemF64, "e4m3": elemE4M3, "e5m2": elemE5M2,
	"s8": elemS8, "u8": elemU8, "s4": elemS4, "u4": elemU4, "b1": elemB1, "s32": elemS32,
}

func (t elemType) fp8() bool         { return t == elemE4M3 || t == elemE5M2 }
func (t elemType) integer() bool     { return t >= elemS8 && t <= elemU4 }
func (t elemType) accumulator() bool { return t == elemF16 || t == elemF32 }

// bits returns the size of an element.
func (t elemType) bits() int {
	switch t {
	case elemF64:
		return 64
	case elemF16, elemBF16:
		return 16
	case elemE4M3, elemE5M2, elemS8, elemU8:
		return 8
	case elemS4, elemU4:
		return 4
	case elemB1:
		return 1
	}
	return 32
}

// register returns the type of a register that contains elements.
func (t elemType) register() ptx.Type {
	switch t {
	case elemF64:
		return ptx.F64
	case elemF32:
		return ptx.F32
	}
	return ptx.B32
}

// fragment says where the elements of a matrix are. Each lane i holds each elements, and its x-th
// element is element at[i*each+x] of the matrix in mmaWork. Bits are counted in groups of 32,
// because the groups are never split.
type fragment struct {
	typ  elemType
	regs int
	each int
	at   []uint16
}

// perRegister returns the number of elements in a register. 32 bits count as one.
func (t elemType) perRegister() int {
	if t == elemB1 {
		return 1
	}
	return max(32/t.bits(), 1)
}

// order is the order of a fragment's blocks in a lane.
type order uint8

const (
	orderRows order = iota // row+8, then the blocks along k, then row+16
	orderK                 // the blocks along k, then row+8
)

// newFragment lays out a matrix of rows x k. A block is eight rows by four lanes with run elements
// each. If regs is more than the matrix fills, the matrix is repeated.
func newFragment(t elemType, rows, k, run, regs int, o order) fragment {
	f := fragment{typ: t, regs: regs, each: regs * t.perRegister()}
	pair := min(rows/8, 2)
	along := max(k/(4*run), 1)
	for lane := range lanes {
		for x := range f.each {
			u := x / run % (rows / 8 * along)
			row, col := u%pair+u/(pair*along)*2, u/pair%along
			if o == orderK {
				row, col = u/along, u%along
			}
			r := 8*row + lane/4
			c := col*4*run + lane%4*run + x%run
			f.at = append(f.at, uint16(r*k+c))
		}
	}
	return f
}

// transposed returns the fragment of the transposed matrix, which has rows x k.
func (f fragment) transposed(rows, k int) fragment {
	at := make([]uint16, len(f.at))
	for i, p := range f.at {
		at[i] = p%uint16(k)*uint16(rows) + p/uint16(k)
	}
	f.at = at
	return f
}

// kElements returns k in elements as fragments count them.
func (o *mmaOp) kElements(t elemType) int {
	if t == elemB1 {
		return o.k / 32
	}
	return o.k
}

// fragments sets the layouts of mma.
func (o *mmaOp) fragments(f *matrixForm) {
	k := o.kElements(f.types[1])
	o.a = inputFragment(f.types[1], o.m, k)
	o.b = inputFragment(f.types[2], o.n, k)
	o.c = resultFragment(f.types[3], o.m, o.n)
	o.d = resultFragment(f.types[0], o.m, o.n)
}

func inputFragment(t elemType, rows, k int) fragment {
	run := t.perRegister()
	return newFragment(t, rows, k, run, rows*k/run/lanes, orderRows)
}

// resultFragment returns the layout of C or D: pairs of neighbours in a row, of any type.
func resultFragment(t elemType, rows, cols int) fragment {
	return newFragment(t, rows, cols, 2, rows*cols/t.perRegister()/lanes, orderRows)
}

// quadPairs sets the layouts of mma.m8n8k4 of halves. There are four products, each computed by
// four neighbouring lanes and the four lanes 16 further on.
func (o *mmaOp) quadPairs(f *matrixForm) {
	o.copies = 4
	input := func(byRows bool) fragment {
		g := fragment{typ: elemF16, regs: 2, each: 4}
		for lane := range lanes {
			for x := range 4 {
				row, k := lane%4+lane/16*4, x
				if !byRows {
					row, k = x+lane/16*4, lane%4
				}
				g.at = append(g.at, uint16(lane/4%4*32+row*4+k))
			}
		}
		return g
	}
	result := func(t elemType) fragment {
		g := fragment{typ: t, regs: 8 / t.perRegister(), each: 8}
		for lane := range lanes {
			for x := range 8 {
				row, col := lane%4+lane/16*4, x
				if t == elemF32 {
					row, col = lane&1+x&2+lane/16*4, x&4+lane&2+x&1
				}
				g.at = append(g.at, uint16(lane/4%4*64+row*8+col))
			}
		}
		return g
	}
	o.a, o.b = input(f.layouts[0] == "row"), input(f.layouts[1] == "col")
	o.c, o.d = result(f.types[3]), result(f.types[0])
}

// gather collects the patterns of a matrix's elements.
//
//go:norace
func (f *fragment) gather(w *warp, regs []uint32, to *[256]uint32) {
	per := f.typ.perRegister()
	for r := range f.regs {
		c := &w.r32[regs[r]]
		for lane, x := range c {
			at := f.at[lane*f.each+r*per:]
			if per == 1 {
				to[at[0]] = x
				continue
			}
			to[at[0]], to[at[1]] = x&0xffff, x>>16
		}
	}
}

// gatherTerms collects the values of a matrix's elements.
//
//go:norace
func (f *fragment) gatherTerms(w *warp, regs []uint32, to *[1024]term, decode func(x uint32) term) {
	per, bits := f.typ.perRegister(), f.typ.bits()
	if f.typ == elemB1 {
		bits = 32
	}
	mask := uint32(1<<bits - 1)
	for r := range f.regs {
		c := &w.r32[regs[r]]
		for lane, x := range c {
			for _, p := range f.at[lane*f.each+r*per:][:per] {
				to[p&1023] = decode(x & mask)
				x >>= bits
			}
		}
	}
}

// scatter distributes the elements of a matrix to the lanes in m.
//
//go:norace
func (f *fragment) scatter(w *warp, regs []uint32, from *[256]uint32, m uint32) {
	per := f.typ.perRegister()
	for ; m != 0; m &= m - 1 {
		lane := first(m)
		at := f.at[lane*f.each:]
		for r := range f.regs {
			x := from[at[r*per]]
			if per == 2 {
				x |= from[at[2*r+1]] << 16
			}
			w.r32[regs[r]][lane] = x
		}
	}
}

//go:norace
func (f *fragment) gather64(w *warp, regs []uint32, to *[256]float64) {
	for r := range f.regs {
		for lane, x := range &w.r64[regs[r]] {
			to[f.at[lane*f.each+r]] = math.Float64frombits(x)
		}
	}
}

//go:norace
func (f *fragment) scatter64(w *warp, regs []uint32, from *[256]float64, m uint32) {
	for ; m != 0; m &= m - 1 {
		lane := first(m)
		for r := range f.regs {
			w.r64[regs[r]][lane] = math.Float64bits(from[f.at[lane*f.each+r]])
		}
	}
}

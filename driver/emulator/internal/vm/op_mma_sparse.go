package vm

import (
	"github.com/purecuda/cuda/ptx"
)

// mma.sp: only some elements of A are stored, and metadata says which: two of each four, one of
// each two in tf32, or two pairs of each four pairs of 4 bits. A and B are multiplied only at the
// stored places. Other elements of B do not matter.

// sparsity holds what a sparse form has in addition to a dense one.
type sparsity struct {
	selector int  // which lanes of four have the metadata
	holders  int  // how many of them
	narrow   bool // elements of 8 or 4 bits
}

// sparseShapes are the shapes of mma.sp by the type of A.
var sparseShapes = map[elemType]string{
	elemF16: "m16n8k16 m16n8k32", elemBF16: "m16n8k16 m16n8k32", elemTF32: "m16n8k8 m16n8k16", elemE4M3: "m16n8k64", elemE5M2: "m16n8k64",
	elemS8: "m16n8k32 m16n8k64", elemU8: "m16n8k32 m16n8k64", elemS4: "m16n8k64 m16n8k128", elemU4: "m16n8k64 m16n8k128",
}

// takeSparse removes the modifier of the sparse forms.
func (f *matrixForm) takeSparse() bool {
	return f.take("sp") || f.take("sp::ordered_metadata")
}

// sparse checks the selector, which is the instruction's last operand.
func (l *lowerer) sparse(i *ptx.Instr, o *mmaOp, t elemType) bool {
	if !l.args(i, 6, 6) {
		return false
	}
	s := &sparsity{holders: 16 * o.k / t.group() * 4 / 32 / 8, narrow: t.bits() < 16}
	imm, ok := i.Args[5].(*ptx.Imm)
	if !ok || imm.Bits >= uint64(4/s.holders) {
		l.bad("selector is not below %d", 4/s.holders)
		return false
	}
	s.selector = int(imm.Bits)
	o.sparsity = s
	return true
}

// group returns the number of elements of A that four bits of metadata describe.
func (t elemType) group() int {
	switch t {
	case elemTF32:
		return 2
	case elemS4, elemU4:
		return 8
	}
	return 4
}

// places finds the place along k of each stored element of A.
//
//go:norace
func (o *mmaOp) places(w *warp, metadata uint32, to *[1024]uint8) {
	e := &w.r32[metadata]
	group := o.a.typ.group()
	there := group / 2
	n := o.k / 2
	for row := range o.m {
		for g := range n / there {
			bits := o.sparsity.fourBits(e, row, g)
			for x := range there {
				to[row*n+g*there+x] = uint8(g*group + placeIn(bits, x, group))
			}
		}
	}
}

// fourBits returns the metadata of group g of a row. With elements of 16 and 32 bits, a lane has
// four groups of two rows each. With smaller elements, it has eight groups of one row.
func (s *sparsity) fourBits(e *col32, row, g int) uint32 {
	lane := row%8*4 + s.selector*s.holders
	if !s.narrow {
		return e[lane+g/4] >> (row / 8 * 16) >> (g % 4 * 4) & 15
	}
	return e[lane+row/8+g/8*2] >> (g % 8 * 4) & 15
}

// placeIn returns the place in its group of stored element x.
func placeIn(fourBits uint32, x, group int) int {
	switch group {
	case 2:
		return int(fourBits >> 3)
	case 8:
		return int(fourBits>>(x/2*2)&3)*2 + x%2
	}
	return int(fourBits >> (2 * x) & 3)
}

// compressed returns a column of B at the places where a row of A has elements.
func compressed(b []term, places []uint8, to *[64]term) []term {
	for k, p := range places {
		to[k] = b[p]
	}
	return to[:len(places)]
}

package vm

import "github.com/purecuda/cuda/ptx"

// ldmatrix, stmatrix and movmatrix: matrices of 8x8 elements of 16 bits. Each lane holds two
// neighbours of a row in a register.

func init() {
	register(lowerMatrixMemory, "ldmatrix", "stmatrix")
	register(lowerMovmatrix, "movmatrix")
}

// wholeMask is the member mask of the operations that all lanes execute.
var wholeMask = &ptx.Imm{Kind: ptx.ImmInt, Bits: uint64(full)}

const matrixRowBytes = 16

func lowerMatrixMemory(l *lowerer, i *ptx.Instr, f *form) {
	number, shape, trans := 0, false, false
	for _, m := range f.rest {
		switch m {
		case "x1", "x2", "x4":
			number = int(m[1] - '0')
		case "m8n8":
			shape = true
		case "trans":
			trans = true
		default:
			l.unsupported()
			return
		}
	}
	if number == 0 || !shape || f.typ() != ptx.B16 || f.flags != flagSync|flagAligned || !l.args(i, 2, 2) {
		l.unsupported()
		return
	}
	store := i.Op.Name == "stmatrix"
	address, list := i.Args[1], i.Args[0]
	if store {
		address, list = i.Args[0], i.Args[1]
	}
	p := l.memoryPlace(address, f.space)
	if p.base == noReg || p.space != ptx.SharedSpace && p.space != ptx.GenericSpace {
		l.bad("address is not in shared memory")
		return
	}
	var regs []reg
	for _, e := range l.elems(list, number) {
		if store {
			regs = append(regs, l.src(e, ptx.B32))
		} else {
			regs = append(regs, l.dst(e, ptx.B32))
		}
	}
	wide := p.base.class == class64
	n := l.slot(l.syncInstr(func(w *warp, in *inst, m uint32) {
		w.moveMatrices(in, wide, trans, m)
	}, noReg, wholeMask, p.base))
	n.in.imm = p.imm
	n.in.aux = spaceCode(p.space) | log2(matrixRowBytes)<<accLog
	if store {
		n.in.aux |= accWrite
	}
	for _, r := range regs {
		n.more(r, !store)
	}
	l.finishSync(n)
}

// moveMatrices moves matrices between shared memory and the registers in x.regs from 1 on. Lane
// 8*k+r has the address of row r of matrix k.
//
//go:norace
//go:nocheckptr
func (w *warp) moveMatrices(in *inst, wide, trans bool, m uint32) {
	e := w.site(in)
	a := w.addresses(in, wide, m)
	for k, r := range in.x.regs[1:] {
		c := &w.r32[r]
		for row := range 8 {
			lane := 8*k + row
			if m>>lane&1 == 0 {
				continue // a thread that does not exist
			}
			p := (*[8]uint16)(w.pointer(in, e, a[lane], lane))
			if in.aux&accWrite != 0 {
				storeRow(c, p, row, trans)
			} else {
				loadRow(c, p, row, trans)
			}
		}
	}
}

// holder returns the lane and the shift of element col of a row.
func holder(row, col int, trans bool) (lane int, shift uint) {
	if trans {
		row, col = col, row
	}
	return 4*row + col/2, uint(col % 2 * 16)
}

//go:norace
func loadRow(c *col32, p *[8]uint16, row int, trans bool) {
	for col, x := range p {
		lane, shift := holder(row, col, trans)
		c[lane] = c[lane]&^(0xffff<<shift) | uint32(x)<<shift
	}
}

//go:norace
func storeRow(c *col32, p *[8]uint16, row int, trans bool) {
	for col := range p {
		lane, shift := holder(row, col, trans)
		p[col] = uint16(c[lane] >> shift)
	}
}

func lowerMovmatrix(l *lowerer, i *ptx.Instr, f *form) {
	if len(f.rest) != 2 || f.rest[0] != "m8n8" || f.rest[1] != "trans" || f.typ() != ptx.B16 || f.flags != flagSync|flagAligned || !l.args(i, 2, 2) {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], ptx.B32)
	n := l.syncInstr(execMovmatrix, l.dst(i.Args[0], ptx.B32), wholeMask, a)
	l.finishSync(n)
}

//go:norace
func execMovmatrix(w *warp, in *inst, m uint32) {
	a := w.r32[in.a] // a copy: the destination may be the same column
	d := &w.r32[in.d]
	for ; m != 0; m &= m - 1 {
		lane := first(m)
		var x uint32
		for half := range 2 {
			from, shift := holder(lane/4, lane%4*2+half, true)
			x |= a[from] >> shift & 0xffff << (16 * half)
		}
		d[lane] = x
	}
}

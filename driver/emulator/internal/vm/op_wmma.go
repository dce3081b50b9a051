package vm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// wmma: a whole warp loads, multiplies and stores matrices.

func init() {
	register(lowerWmma, "wmma")
}

func lowerWmma(l *lowerer, i *ptx.Instr, f *form) {
	g, ok := parseMatrix(i.Op)
	if !ok || len(g.rest) == 0 || !g.take("sync") || !g.take("aligned") {
		l.unsupported()
		return
	}
	switch what := g.rest[0]; what {
	case "load", "store":
		l.wmmaMemory(i, f, &g, what == "store")
	case "mma":
		g.take("mma")
		l.wmmaProduct(i, &g)
	default:
		l.unsupported()
	}
}

var wmmaShapes = map[elemType]string{
	elemF16: "m16n16k16 m32n8k16 m8n32k16", elemBF16: "m16n16k16 m32n8k16 m8n32k16",
	elemS8: "m16n16k16 m32n8k16 m8n32k16", elemU8: "m16n16k16 m32n8k16 m8n32k16",
	elemTF32: "m16n16k8", elemF64: "m8n8k4", elemS4: "m8n8k32", elemU4: "m8n8k32", elemB1: "m8n8k128",
}

// wmmaResults lists the valid shapes by the type of C and D.
var wmmaResults = map[elemType]string{
	elemF16: wmmaShapes[elemF16], elemF32: wmmaShapes[elemF16] + " m16n16k8", elemF64: "m8n8k4",
	elemS32: wmmaShapes[elemS8] + " m8n8k32 m8n8k128",
}

func (t tile) String() string { return fmt.Sprintf("m%dn%dk%d", t.m, t.n, t.k) }

func (t tile) in(list string) bool { return slices.Contains(strings.Fields(list), t.String()) }

// wmmaProduct lowers wmma.mma. The form specifies the layouts of A and B in memory, but the layouts
// in registers do not depend on them.
func (l *lowerer) wmmaProduct(i *ptx.Instr, g *matrixForm) {
	o := &mmaOp{tile: g.tile, copies: 1}
	if len(g.types) == 2 { // forms in f16 have types only for d and c
		g.types = []elemType{g.types[0], elemF16, elemF16, g.types[1]}
	}
	if len(g.types) != 4 || len(g.layouts) != 2 {
		l.unsupported()
		return
	}
	a := g.types[1]
	o.satfinite = g.take("satfinite")
	o.modifiers(g)
	if len(g.rest) != 0 || !g.tile.in(wmmaShapes[a]) || a != g.types[2] || !wmmaTypes(g.types) || o.satfinite && !a.integer() {
		l.unsupported()
		return
	}
	if a.bits() < 8 && (g.layouts[0] != "row" || g.layouts[1] != "col") {
		l.bad("layout is not .row.col")
		return
	}
	o.a, o.b = wmmaFragment("a", o.tile, a), wmmaFragment("b", o.tile, a)
	o.c, o.d = wmmaFragment("c", o.tile, g.types[3]), wmmaFragment("d", o.tile, g.types[0])
	l.matrixProduct(i, o)
}

// wmmaTypes reports whether the types of d, a, b and c can be combined. If a and b are f16, d and c
// may each be f16 or f32.
func wmmaTypes(t []elemType) bool {
	if t[1] == elemF16 {
		return t[0].accumulator() && t[3].accumulator()
	}
	return knownTypes(t, false)
}

// wmmaFragment returns the layout of operand a, b, c or d.
func wmmaFragment(operand string, s tile, t elemType) fragment {
	k, run := s.k, t.perRegister()
	if t == elemB1 {
		k /= 32
	}
	regs := func(rows int) int {
		if t == elemF16 {
			return 8 // some lanes hold copies of other lanes' elements
		}
		return rows * k / run / lanes
	}
	switch {
	case operand == "a":
		return newFragment(t, s.m, k, run, regs(s.m), orderRows)
	case operand == "b" && s.n == 32:
		return newFragment(t, s.n, k, run, regs(s.n), orderRows)
	case operand == "b":
		return newFragment(t, s.n, k, run, regs(s.n), orderK)
	case s.n == 32:
		return newFragment(t, s.n, s.m, 2, s.n*s.m/run/lanes, orderRows).transposed(s.n, s.m)
	}
	return resultFragment(t, s.m, s.n)
}

type wmmaMove struct {
	fragment
	rows, cols int  // shape of the matrix as fragments store it; B is transposed
	across     bool // set if columns, not rows, are contiguous in memory
	wideBase   bool
	store      bool
	run        int    // number of elements moved at once
	bytes      uint64 // size of a run in bytes
}

func (l *lowerer) wmmaMemory(i *ptx.Instr, f *form, g *matrixForm, store bool) {
	spaces := []string{"load", "store", "global", "shared", "shared::cta"}
	g.rest = slices.DeleteFunc(g.rest, func(m string) bool { return slices.Contains(spaces, m) })
	if len(g.rest) != 1 || len(g.types) != 1 || len(g.layouts) != 1 || !l.args(i, 2, 3) {
		l.unsupported()
		return
	}
	o := newWmmaMove(g.rest[0], g.tile, g.types[0], g.layouts[0] != "row")
	if o == nil || store != (g.rest[0] == "d") {
		l.unsupported()
		return
	}
	if o.across && o.typ.bits() < 8 {
		l.bad("layout .%s is not possible", g.layouts[0])
		return
	}
	o.store = store
	l.emitWmmaMemory(i, f, o)
}

// newWmmaMove returns the form for operand a, b, c or d, or nil if the form does not exist.
func newWmmaMove(operand string, s tile, t elemType, byColumns bool) *wmmaMove {
	o := &wmmaMove{across: byColumns, rows: s.m, cols: s.k, run: 1, bytes: uint64(t.bits()+7) / 8}
	shapes := wmmaShapes[t]
	switch operand {
	case "a":
	case "b":
		o.rows, o.across = s.n, !byColumns
	case "c", "d":
		o.cols, shapes = s.n, wmmaResults[t]
	default:
		return nil
	}
	if !s.in(shapes) {
		return nil
	}
	switch t {
	case elemB1:
		o.cols /= 32
		o.bytes = 4
	case elemS4, elemU4:
		o.run, o.bytes = 8, 4
	}
	o.fragment = wmmaFragment(operand, s, t)
	return o
}

// emitWmmaMemory emits the load or store. x.regs[1] is the stride, followed by the fragment's
// registers.
func (l *lowerer) emitWmmaMemory(i *ptx.Instr, f *form, o *wmmaMove) {
	address, list := i.Args[1], i.Args[0]
	if o.store {
		address, list = i.Args[0], i.Args[1]
	}
	p := l.memoryPlace(address, f.space)
	if p.base == noReg {
		p.base, p.imm = l.constant(class64, paramWindow+p.imm), 0
	}
	o.wideBase = p.base.class == class64
	stride := l.constant(class32, uint64(o.defaultStride()))
	if len(i.Args) == 3 {
		stride = l.src(i.Args[2], ptx.U32)
	}
	var regs []reg
	for _, e := range l.elems(list, o.regs) {
		if o.store {
			regs = append(regs, l.src(e, o.typ.register()))
		} else {
			regs = append(regs, l.dst(e, o.typ.register()))
		}
	}
	n := l.slot(l.syncInstr(o.exec, noReg, wholeMask, p.base))
	n.in.imm = p.imm
	n.in.aux = spaceCode(p.space) | log2(int(o.bytes))<<accLog
	if o.store {
		n.in.aux |= accWrite
	}
	n.more(stride, false)
	for _, r := range regs {
		n.more(r, !o.store)
	}
	l.finishSync(n)
}

// defaultStride returns the stride, in elements, of a matrix without gaps.
func (o *wmmaMove) defaultStride() int {
	switch {
	case o.across:
		return o.rows
	case o.typ == elemB1:
		return 32 * o.cols
	}
	return o.cols
}

// exec moves the matrix between memory and registers. All lanes must have the same address and
// stride.
//
//go:norace
//go:nocheckptr
func (o *wmmaMove) exec(w *warp, in *inst, m uint32) {
	base := w.addresses(in, o.wideBase, m)[first(m)]
	stride := uint64(w.r32[in.x.regs[1]][first(m)])
	regs := in.x.regs[2:]
	e := w.site(in)
	per := o.typ.perRegister()
	for k := m; k != 0; k &= k - 1 {
		lane := first(k)
		for x := 0; x < o.each; x += o.run {
			p := w.pointer(in, e, base+o.offset(int(o.at[lane*o.each+x]), stride), lane)
			o.move(w, regs[x/per], lane, uint(x%per*o.typ.bits()), p)
		}
	}
}

func (o *wmmaMove) offset(at int, stride uint64) uint64 {
	row, col := uint64(at/o.cols), uint64(at%o.cols)
	if o.across {
		row, col = col, row
	}
	if o.typ == elemB1 {
		col *= 32
	}
	return (row*stride + col) * uint64(o.typ.bits()) / 8
}

// move moves one element of a lane, or one register that holds several elements.
//
//go:norace
func (o *wmmaMove) move(w *warp, r uint32, lane int, shift uint, p unsafe.Pointer) {
	lg := uint(log2(int(o.bytes)))
	if o.typ == elemF64 {
		if o.store {
			*(*uint64)(p) = w.r64[r][lane]
		} else {
			w.r64[r][lane] = *(*uint64)(p)
		}
		return
	}
	v := &w.r32[r][lane]
	if o.store {
		storeOne(p, lg, uint64(*v>>shift), false)
		return
	}
	mask := uint32(1<<(8*o.bytes) - 1)
	*v = *v&^(mask<<shift) | uint32(loadOne(p, lg, false, false))<<shift
}

// The layout of matrices in registers. The ISA specifies the layouts of mma but not those of wmma.
// The wmma layouts here are those of an H200, so programs that rely on observed layouts get the
// same results.

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

// bits returns the size of an element in bits.
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

func (t elemType) register() ptx.Type {
	switch t {
	case elemF64:
		return ptx.F64
	case elemF32:
		return ptx.F32
	}
	return ptx.B32
}

// fragment describes which lane holds which elements of a matrix. The x-th element of lane i is
// element at[i*each+x] of the matrix in mmaWork. Bits are counted in groups of 32, because a group
// is never split.
type fragment struct {
	typ  elemType
	regs int
	each int
	at   []uint16
}

// perRegister returns the number of elements in a register. For b1, 32 bits count as one element.
func (t elemType) perRegister() int {
	if t == elemB1 {
		return 1
	}
	return max(32/t.bits(), 1)
}

// order is the order in which a lane holds the blocks of a fragment.
type order uint8

const (
	orderRows order = iota // row+8 first, then the blocks along k, then row+16
	orderK                 // the blocks along k first, then row+8
)

// newFragment returns the layout of a matrix of rows x k. A block covers eight rows, each spread
// over four lanes with run elements per lane. If there are more registers than the matrix needs,
// the matrix is repeated.
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

// transposed returns the layout of the transposed matrix, which has rows x k elements.
func (f fragment) transposed(rows, k int) fragment {
	at := make([]uint16, len(f.at))
	for i, p := range f.at {
		at[i] = p%uint16(k)*uint16(rows) + p/uint16(k)
	}
	f.at = at
	return f
}

// kElements returns the number of fragment elements along k. For b1, one fragment element holds 32
// bits.
func (o *mmaOp) kElements(t elemType) int {
	if t == elemB1 {
		return o.k / 32
	}
	return o.k
}

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

// resultFragment returns the layout of C or D. For every type, a lane holds pairs of adjacent
// elements in a row.
func resultFragment(t elemType, rows, cols int) fragment {
	return newFragment(t, rows, cols, 2, rows*cols/t.perRegister()/lanes, orderRows)
}

// quadPairs sets the layouts of mma.m8n8k4 in f16. A warp computes four products. Each product uses
// four adjacent lanes and the four lanes 16 higher.
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

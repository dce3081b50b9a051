package vm

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// wmma: matrices that a whole warp loads, multiplies and stores.

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

// wmmaShapes lists the shapes of wmma by the type of A and B.
var wmmaShapes = map[elemType]string{
	elemF16: "m16n16k16 m32n8k16 m8n32k16", elemBF16: "m16n16k16 m32n8k16 m8n32k16",
	elemS8: "m16n16k16 m32n8k16 m8n32k16", elemU8: "m16n16k16 m32n8k16 m8n32k16",
	elemTF32: "m16n16k8", elemF64: "m8n8k4", elemS4: "m8n8k32", elemU4: "m8n8k32", elemB1: "m8n8k128",
}

// wmmaResults lists the shapes by the type of C and D.
var wmmaResults = map[elemType]string{
	elemF16: wmmaShapes[elemF16], elemF32: wmmaShapes[elemF16] + " m16n16k8", elemF64: "m8n8k4",
	elemS32: wmmaShapes[elemS8] + " m8n8k32 m8n8k128",
}

func (t tile) String() string { return fmt.Sprintf("m%dn%dk%d", t.m, t.n, t.k) }

func (t tile) in(list string) bool { return slices.Contains(strings.Fields(list), t.String()) }

// wmmaProduct lowers wmma.mma. The form specifies the layouts of A and B, but they are the same in
// registers.
func (l *lowerer) wmmaProduct(i *ptx.Instr, g *matrixForm) {
	o := &mmaOp{tile: g.tile, copies: 1}
	if len(g.types) == 2 { // d and c of halves
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

// wmmaTypes reports whether d, a, b and c can be combined. With halves, d and c may be of either
// type.
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
			return 8 // some repeat the elements
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

// wmmaMove is one form of wmma.load or wmma.store.
type wmmaMove struct {
	fragment
	rows, cols int  // of the matrix as fragments count it: B is transposed
	across     bool // in memory, columns are contiguous
	wideBase   bool
	store      bool
	run        int    // elements that are moved at once
	bytes      uint64 // of a run
}

// wmmaMemory lowers wmma.load.a, .b, .c and wmma.store.d.
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

// newWmmaMove returns the form for operand a, b, c or d, or nil if there is none.
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

// emitWmmaMemory emits the load or store. The stride is in x.regs[1], followed by the fragment's
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

// defaultStride returns the stride of a matrix without gaps, in elements.
func (o *wmmaMove) defaultStride() int {
	switch {
	case o.across:
		return o.rows
	case o.typ == elemB1:
		return 32 * o.cols
	}
	return o.cols
}

// exec moves the matrix between memory and registers. All lanes have the
// same address and stride.
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

// offset returns the byte offset of element at of the matrix.
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

// move moves an element, or a register that contains several, of a lane.
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

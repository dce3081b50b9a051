package vm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
)

// mma.sync and wmma.mma: products of small matrices whose elements are distributed over the lanes
// of a warp. The emulator gathers the matrices from the lanes' registers, multiplies them, and
// scatters the result to the lanes.

func init() {
	register(lowerMma, "mma")
}

// tile is an instruction's shape: D (m x n) = A (m x k) * B (k x n) + C.
type tile struct{ m, n, k int }

type mmaOp struct {
	tile
	copies     int // number of products computed at once
	d, a, b, c fragment
	satfinite  bool
	round      rounding // rounding mode, for f64
	and        bool     // for b1: count the ones of a AND b, instead of a XOR b
	sparsity   *sparsity
	sum        sumRule // rule for sums of floating-point products other than f64
}

// mmaWork holds the matrices of one instruction. In A and B, the index along k varies fastest. C
// and D are in row order.
type mmaWork struct {
	a, b     [1024]term
	c, d     [256]uint32
	a64, b64 [256]float64
	c64, d64 [256]float64
	places   [1024]uint8 // for sparse A, the index along k of each stored element
	column   [64]term    // for sparse A, a column of B

	quickA, quickB quickFactors // used by quickFloats
}

// mmaWork returns the CTA's work area. The CTA's warps can share it, because they run one at a
// time.
func (c *cta) mmaWork() *mmaWork {
	if c.matrix == nil {
		c.matrix = new(mmaWork)
	}
	return c.matrix
}

func tileOf(mod string) (t tile, ok bool) {
	n, err := fmt.Sscanf(mod, "m%dn%dk%d", &t.m, &t.n, &t.k)
	return t, err == nil && n == 3 && mod == t.String()
}

// matrixForm holds a matrix instruction's modifiers, sorted by category.
type matrixForm struct {
	tile    tile
	layouts []string // each layout is "row" or "col"
	types   []elemType
	rest    []string
}

// parseMatrix sorts an opcode's modifiers into a matrixForm. Unknown modifiers go into rest in
// source order.
func parseMatrix(op *ptx.Opcode) (f matrixForm, ok bool) {
	for _, m := range op.Mods {
		if t, is := tileOf(m); is {
			f.tile, ok = t, true
			continue
		}
		if t, is := elemTypes[m]; is {
			f.types = append(f.types, t)
			continue
		}
		if m == "row" || m == "col" {
			f.layouts = append(f.layouts, m)
			continue
		}
		f.rest = append(f.rest, m)
	}
	return f, ok
}

func (f *matrixForm) take(mod string) bool {
	i := slices.Index(f.rest, mod)
	if i >= 0 {
		f.rest = slices.Delete(f.rest, i, i+1)
	}
	return i >= 0
}

// takeRound removes the rounding modifier of an f64 product and returns its mode. The default is to
// nearest.
func (f *matrixForm) takeRound() rounding {
	for _, m := range []string{"rz", "rm", "rp"} {
		if f.take(m) {
			return roundNames[m]
		}
	}
	f.take("rn")
	return roundRN
}

func lowerMma(l *lowerer, i *ptx.Instr, _ *form) {
	f, ok := parseMatrix(i.Op)
	if !ok || len(f.types) != 4 || len(f.layouts) != 2 || !f.take("sync") || !f.take("aligned") {
		l.unsupported()
		return
	}
	o := &mmaOp{tile: f.tile, copies: 1, satfinite: f.take("satfinite")}
	shapes, sparse := mmaShapes, f.takeSparse()
	if sparse {
		shapes = sparseShapes
	}
	o.modifiers(&f)
	if len(f.rest) != 0 || !o.known(&f, shapes) || sparse && f.types[1].fp8() && f.types[0] != elemF32 {
		l.unsupported()
		return
	}
	switch {
	case o.quad(f.types[1]):
		o.quadPairs(&f)
	case sparse:
		if !l.sparse(i, o, f.types[1]) {
			return
		}
		o.fragments(&f)
		o.a = inputFragment(f.types[1], o.m, o.k/2)
	default:
		o.fragments(&f)
	}
	l.matrixProduct(i, o)
}

// quad reports whether the form is m8n8k4 in f16. With this form, a warp computes four products at
// once.
func (o *mmaOp) quad(a elemType) bool { return o.tile == tile{8, 8, 4} && a == elemF16 }

// modifiers removes the type-dependent modifiers from the form and stores them in o.
func (o *mmaOp) modifiers(f *matrixForm) {
	switch f.types[1] {
	case elemF64:
		o.round = f.takeRound()
	case elemB1:
		o.and = f.take("and")
		if !o.and && !f.take("xor") || !f.take("popc") {
			f.rest = append(f.rest, "no operation")
		}
	}
}

var mmaShapes = map[elemType]string{
	elemF16: "m8n8k4 m16n8k8 m16n8k16", elemBF16: "m16n8k8 m16n8k16", elemTF32: "m16n8k4 m16n8k8",
	elemF64: "m8n8k4 m16n8k4 m16n8k8 m16n8k16", elemE4M3: "m16n8k16 m16n8k32", elemE5M2: "m16n8k16 m16n8k32",
	elemS8: "m8n8k16 m16n8k16 m16n8k32", elemU8: "m8n8k16 m16n8k16 m16n8k32",
	elemS4: "m8n8k32 m16n8k32 m16n8k64", elemU4: "m8n8k32 m16n8k32 m16n8k64", elemB1: "m8n8k128 m16n8k128 m16n8k256",
}

// known reports whether an mma with the form's types and the shape of o exists.
func (o *mmaOp) known(f *matrixForm, shapes map[elemType]string) bool {
	if !o.in(shapes[f.types[1]]) {
		return false
	}
	volta := o.quad(f.types[1])
	if !volta && (f.layouts[0] != "row" || f.layouts[1] != "col") {
		return false
	}
	return knownTypes(f.types, volta) && (!o.satfinite || f.types[0] == elemS32 && f.types[1] != elemB1)
}

// knownTypes reports whether the types of d, a, b and c can be combined. If mixed is set, d and c
// may have different types.
func knownTypes(t []elemType, mixed bool) bool {
	d, a, b, c := t[0], t[1], t[2], t[3]
	if a != b && !(a.fp8() && b.fp8()) && !(a.integer() && b.integer() && a.bits() == b.bits()) {
		return false
	}
	switch {
	case a == elemF64:
		return d == elemF64 && c == elemF64
	case a.integer() || a == elemB1:
		return d == elemS32 && c == elemS32
	case a == elemF16 && mixed:
		return d.accumulator() && c.accumulator() && (d == elemF32 || c == elemF16)
	case a == elemF16 || a.fp8():
		return d == c && d.accumulator()
	}
	return d == elemF32 && c == elemF32
}

func (l *lowerer) matrixProduct(i *ptx.Instr, o *mmaOp) {
	if o.sparsity == nil && !l.args(i, 4, 4) {
		return
	}
	o.sum = ruleFor(o)
	exec := o.exec()
	var regs [4][]reg
	for k, f := range []*fragment{&o.d, &o.a, &o.b, &o.c} {
		for _, e := range l.elems(i.Args[k], f.regs) {
			if k == 0 {
				regs[k] = append(regs[k], l.dst(e, f.typ.register()))
			} else {
				regs[k] = append(regs[k], l.src(e, f.typ.register()))
			}
		}
	}
	metadata := noReg
	if o.sparsity != nil {
		metadata = l.src(i.Args[4], ptx.B32)
	}
	n := l.syncInstr(exec, noReg, wholeMask)
	for k := range regs {
		for _, r := range regs[k] {
			n.more(r, k == 0)
		}
	}
	if o.sparsity != nil {
		n.more(metadata, false)
	}
	l.finishSync(n)
}

func (o *mmaOp) exec() execFunc {
	at := [4]int{1, 1 + o.d.regs, 1 + o.d.regs + o.a.regs, 1 + o.d.regs + o.a.regs + o.b.regs}
	if o.a.typ == elemF64 {
		return func(w *warp, in *inst, m uint32) {
			k := w.cta.mmaWork()
			x := in.x.regs
			o.a.gather64(w, x[at[1]:], &k.a64)
			o.b.gather64(w, x[at[2]:], &k.b64)
			o.c.gather64(w, x[at[3]:], &k.c64)
			o.doubles(k)
			o.d.scatter64(w, x[at[0]:], &k.d64, m)
		}
	}
	product := o.integers
	switch {
	case o.a.typ == elemB1:
		product = o.bits
	case !o.a.typ.integer():
		product = o.floats
	}
	decodeA, decodeB := o.a.typ.decoder(), o.b.typ.decoder()
	quick := o.quick()
	return func(w *warp, in *inst, m uint32) {
		k := w.cta.mmaWork()
		x := in.x.regs
		o.c.gather(w, x[at[3]:], &k.c)
		if quick && k.quickA.gather(w, &o.a, x[at[1]:]) && k.quickB.gather(w, &o.b, x[at[2]:]) && o.quickFloats(k) {
			o.d.scatter(w, x[at[0]:], &k.d, m)
			return
		}
		o.a.gatherTerms(w, x[at[1]:], &k.a, decodeA)
		o.b.gatherTerms(w, x[at[2]:], &k.b, decodeB)
		if o.sparsity != nil {
			o.places(w, x[at[3]+o.c.regs], &k.places)
		}
		product(k)
		o.d.scatter(w, x[at[0]:], &k.d, m)
	}
}

// Products of integers and bits, which are exact, and of f64 values.

// integers multiplies 8-bit and 4-bit integers. Sums wrap, or are limited at the end if the form
// saturates.
func (o *mmaOp) integers(w *mmaWork) {
	for i := range o.m {
		for j := range o.n {
			a, b := o.factors(w, i, j)
			sum := int64(int32(w.c[i*o.n+j]))
			b = b[:len(a)]
			for k := range a {
				sum += int64(a[k].sig * b[k].sig)
			}
			if o.satfinite {
				sum = min(max(sum, math.MinInt32), math.MaxInt32)
			}
			w.d[i*o.n+j] = uint32(sum)
		}
	}
}

// factors returns row i of A and column j of B. If A is sparse, both contain only the elements at
// the positions that A stores.
func (o *mmaOp) factors(w *mmaWork, i, j int) (a, b []term) {
	b = w.b[j*o.k : (j+1)*o.k]
	if o.sparsity == nil {
		return w.a[i*o.k : (i+1)*o.k], b
	}
	n := o.k / 2
	return w.a[i*n : (i+1)*n], compressed(b, w.places[i*n:(i+1)*n], &w.column)
}

// bits multiplies matrices of bits by counting ones. One term holds 32 bits of A or B.
func (o *mmaOp) bits(w *mmaWork) {
	n := o.k / 32
	for i := range o.m {
		for j := range o.n {
			sum := w.c[i*o.n+j]
			for k := range n {
				x, y := uint32(w.a[i*n+k].sig), uint32(w.b[j*n+k].sig)
				if o.and {
					x &= y
				} else {
					x ^= y
				}
				sum += uint32(bits.OnesCount32(x))
			}
			w.d[i*o.n+j] = sum
		}
	}
}

// doubles multiplies f64 matrices with a chain of fused operations along k.
func (o *mmaOp) doubles(w *mmaWork) {
	for i := range o.m {
		for j := range o.n {
			sum := w.c64[i*o.n+j]
			for k := range o.k {
				sum = fmaNaN(w.a64[i*o.k+k], w.b64[j*o.k+k], sum, o.round)
			}
			w.d64[i*o.n+j] = sum
		}
	}
}

// fmaNaN is fmaF64 with the hardware's NaNs. It returns the first NaN among b, c and a, made quiet.
// If none of them is a NaN, it returns the negative NaN without payload.
func fmaNaN(a, b, c float64, r rounding) float64 {
	y := softfloat.FMAF64(a, b, c, r)
	if y == y {
		return y
	}
	for _, x := range [...]float64{b, c, a} {
		if x != x {
			return math.Float64frombits(math.Float64bits(x) | 1<<51)
		}
	}
	return math.Float64frombits(0xfff8 << 48)
}

// mma.sp: A is stored sparsely, and metadata contains the positions of the stored elements. A
// stores two of every four elements. For tf32, it stores one of every two elements, and for 4-bit
// elements two of every four pairs. Products are computed only at the stored positions, so the
// other elements of B have no effect.

type sparsity struct {
	selector int  // selects which lanes in each group of four hold the metadata
	holders  int  // number of lanes in each group of four that hold metadata
	narrow   bool // elements have 8 or 4 bits
}

var sparseShapes = map[elemType]string{
	elemF16: "m16n8k16 m16n8k32", elemBF16: "m16n8k16 m16n8k32", elemTF32: "m16n8k8 m16n8k16", elemE4M3: "m16n8k64", elemE5M2: "m16n8k64",
	elemS8: "m16n8k32 m16n8k64", elemU8: "m16n8k32 m16n8k64", elemS4: "m16n8k64 m16n8k128", elemU4: "m16n8k64 m16n8k128",
}

func (f *matrixForm) takeSparse() bool {
	return f.take("sp") || f.take("sp::ordered_metadata")
}

// sparse stores the selector, which is the last operand. It records an error and returns false if
// the selector is invalid.
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

// group returns the number of elements of A that are covered by four bits of metadata.
func (t elemType) group() int {
	switch t {
	case elemTF32:
		return 2
	case elemS4, elemU4:
		return 8
	}
	return 4
}

// places computes the index along k of each stored element of A.
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

// fourBits returns the metadata of group g of a row. For 16-bit and 32-bit elements, each lane
// holds four groups of two rows. For smaller elements, each lane holds eight groups of one row.
func (s *sparsity) fourBits(e *col32, row, g int) uint32 {
	lane := row%8*4 + s.selector*s.holders
	if !s.narrow {
		return e[lane+g/4] >> (row / 8 * 16) >> (g % 4 * 4) & 15
	}
	return e[lane+row/8+g/8*2] >> (g % 8 * 4) & 15
}

// placeIn returns the position within its group of stored element x.
func placeIn(fourBits uint32, x, group int) int {
	switch group {
	case 2:
		return int(fourBits >> 3)
	case 8:
		return int(fourBits>>(x/2*2)&3)*2 + x%2
	}
	return int(fourBits >> (2 * x) & 3)
}

func compressed(b []term, places []uint8, to *[64]term) []term {
	for k, p := range places {
		to[k] = b[p]
	}
	return to[:len(places)]
}

// ldmatrix, stmatrix and movmatrix: 8x8 matrices of 16-bit elements. Each lane's register holds two
// adjacent elements of a row.

func init() {
	register(lowerMatrixMemory, "ldmatrix", "stmatrix")
	register(lowerMovmatrix, "movmatrix")
}

// wholeMask is the member mask for operations that all lanes must execute.
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

// moveMatrices moves matrices between shared memory and the registers x.regs[1:]. Lane 8*k+r holds
// the address of row r of matrix k.
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
				continue // this lane does not exist in a partial warp
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

// holder returns the lane and the bit position of element col of a row.
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
	a := w.r32[in.a] // copy, because the destination may be the same column
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

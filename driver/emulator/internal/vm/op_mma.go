package vm

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// mma.sync and wmma.mma: products of small matrices that are spread over a warp. The matrices are
// gathered from the lanes' registers, multiplied, and the result is scattered to the lanes.

func init() {
	register(lowerMma, "mma")
}

// tile is an instruction's shape: D (m x n) = A (m x k) * B (k x n) + C.
type tile struct{ m, n, k int }

// mmaOp is one form of mma or wmma.mma.
type mmaOp struct {
	tile
	copies     int // products that are computed at once
	d, a, b, c fragment
	satfinite  bool
	round      rounding // of f64
	and        bool     // of bits: count a AND b, else a XOR b
	sparsity   *sparsity
	sum        sumRule // of floating point but f64
}

// mmaWork holds the matrices of one instruction. A and B are stored with k running fastest, C and D
// by rows.
type mmaWork struct {
	a, b     [1024]term
	c, d     [256]uint32
	a64, b64 [256]float64
	c64, d64 [256]float64
	places   [1024]uint8 // of A\'s elements along k, where A is sparse
	column   [64]term    // of B, where A is sparse

	quickA, quickB quickFactors // where the form is quick
}

// mmaWork returns the CTA's work area. Its warps run one at a time, so they can share it.
func (c *cta) mmaWork() *mmaWork {
	if c.matrix == nil {
		c.matrix = new(mmaWork)
	}
	return c.matrix
}

// tileOf parses a shape like m16n8k16.
func tileOf(mod string) (t tile, ok bool) {
	n, err := fmt.Sscanf(mod, "m%dn%dk%d", &t.m, &t.n, &t.k)
	return t, err == nil && n == 3 && mod == t.String()
}

// matrixForm holds the modifiers of an instruction on matrices, by category.
type matrixForm struct {
	tile    tile
	layouts []string // "row" and "col"
	types   []elemType
	rest    []string
}

// parseMatrix sorts the modifiers. Modifiers that it does not know are in rest, in the order of the
// text.
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

// take removes a modifier and reports whether it was there.
func (f *matrixForm) take(mod string) bool {
	i := slices.Index(f.rest, mod)
	if i >= 0 {
		f.rest = slices.Delete(f.rest, i, i+1)
	}
	return i >= 0
}

// takeRound removes the rounding of an f64 product. The default is to nearest.
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

// quad reports whether this is the shape of which a warp computes four at once.
func (o *mmaOp) quad(a elemType) bool { return o.tile == tile{8, 8, 4} && a == elemF16 }

// modifiers takes the modifiers that depend on the types.
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

// mmaShapes lists the shapes of mma by the type of A.
var mmaShapes = map[elemType]string{
	elemF16: "m8n8k4 m16n8k8 m16n8k16", elemBF16: "m16n8k8 m16n8k16", elemTF32: "m16n8k4 m16n8k8",
	elemF64: "m8n8k4 m16n8k4 m16n8k8 m16n8k16", elemE4M3: "m16n8k16 m16n8k32", elemE5M2: "m16n8k16 m16n8k32",
	elemS8: "m8n8k16 m16n8k16 m16n8k32", elemU8: "m8n8k16 m16n8k16 m16n8k32",
	elemS4: "m8n8k32 m16n8k32 m16n8k64", elemU4: "m8n8k32 m16n8k32 m16n8k64", elemB1: "m8n8k128 m16n8k128 m16n8k256",
}

// known reports whether there is an mma of these types and this shape.
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

// knownTypes reports whether d, a, b and c can be combined. With mixed, d and c may differ.
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

// matrixProduct emits the product.
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

// exec makes the instruction.
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

package emit

import (
	"strings"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Type suffixes of instructions on signed integers, unsigned integers and untyped bits.
var (
	signedTypes   = map[ir.Kind]string{ir.I32: "s32", ir.I64: "s64", ir.Ptr: "s64"}
	unsignedTypes = map[ir.Kind]string{ir.I32: "u32", ir.I64: "u64", ir.Ptr: "u64"}
	bitTypes      = map[ir.Kind]string{ir.Bool: "pred", ir.I32: "b32", ir.I64: "b64", ir.Ptr: "b64"}
	floatTypes    = map[ir.Kind]string{ir.F32: "f32", ir.F64: "f64"}
)

// binaries lists the instructions with two operands and the type suffixes they take.
var binaries = map[ir.Op]struct {
	name  string
	types map[ir.Kind]string
}{
	ir.OpAdd: {"add.", signedTypes}, ir.OpSub: {"sub.", signedTypes}, ir.OpMul: {"mul.lo.", signedTypes},
	ir.OpSDiv: {"div.", signedTypes}, ir.OpUDiv: {"div.", unsignedTypes},
	ir.OpSRem: {"rem.", signedTypes}, ir.OpURem: {"rem.", unsignedTypes},
	ir.OpAnd: {"and.", bitTypes}, ir.OpOr: {"or.", bitTypes}, ir.OpXor: {"xor.", bitTypes},
	ir.OpShl: {"shl.", bitTypes}, ir.OpLShr: {"shr.", unsignedTypes}, ir.OpAShr: {"shr.", signedTypes},
	ir.OpSMin: {"min.", signedTypes}, ir.OpSMax: {"max.", signedTypes},
	ir.OpUMin: {"min.", unsignedTypes}, ir.OpUMax: {"max.", unsignedTypes},
	ir.OpMulHiS: {"mul.hi.", signedTypes}, ir.OpMulHiU: {"mul.hi.", unsignedTypes},
	ir.OpPtrAdd: {"add.", signedTypes},
}

// unary lists the conversion instructions with one operand. The suffixes of the instruction give
// the register widths.
var unary = map[ir.Op]string{
	ir.OpSExt8: "cvt.s32.s8", ir.OpSExt16: "cvt.s32.s16", ir.OpSExt32: "cvt.s64.s32", ir.OpZExt32: "cvt.u64.u32", ir.OpTrunc: "cvt.u32.u64",
}

func (x *fn) value(v *ir.Value) {
	x.loc(v.Pos)
	if x.emitHalf(v) {
		return
	}
	if f, ok := x.fold(v); ok {
		x.emitFolded(v, f)
		return
	}
	if v.Op == ir.OpMulHiU && v.Type.Kind == ir.I32 {
		x.mulHi32(v)
		return
	}
	if x.products[v] {
		x.op("mul.lo.s64", x.reg(v), x.operand(v.Args[0]), build.Int(1<<x.held(v.Args[1]).Aux))
		return
	}
	if b, ok := binaries[v.Op]; ok {
		x.op(b.name+b.types[v.Type.Kind], x.reg(v), x.operand(v.Args[0]), x.operand(v.Args[1]))
		return
	}
	if name, ok := unary[v.Op]; ok {
		x.op(name, x.reg(v), x.reg(v.Args[0]))
		return
	}
	switch {
	case v.Op >= ir.OpFAdd && v.Op <= ir.OpFConv || v.Op == ir.OpFCmp:
		x.float(v)
	case v.Op >= ir.OpMulWideS && v.Op <= ir.OpLop3 || v.Op == ir.OpZExt8 || v.Op == ir.OpZExt16 || v.Op == ir.OpICmp:
		x.integer(v)
	case v.Op >= ir.OpSpaceCast && v.Op <= ir.OpFence:
		x.access(v)
	default:
		x.other(v)
	}
}

// mulHi32 computes the upper half of an unsigned product from the whole product. Ptxas 12.4 and 13.0
// merge mul.hi.u32 with a subtraction of its zero-extended result: mul.hi.u32 h, a, b; cvt.u64.u32 w, h;
// sub.s64 d, w, c. The merged code loses the carry if the lower word of c is 0, and d is then 2^32 too
// small. Ptxas also finds the pattern through moves and local memory, so mul.hi.u32 is never emitted.
func (x *fn) mulHi32(v *ir.Value) {
	product, low := x.temp(ir.I64), x.temp(ir.I32)
	x.op("mul.wide.u32", product, x.operand(v.Args[0]), x.operand(v.Args[1]))
	x.op("mov.b64", build.Vec(low, x.reg(v)), product)
}

func (x *fn) integer(v *ir.Value) {
	kind := v.Type.Kind
	switch v.Op {
	case ir.OpMulWideS:
		x.op("mul.wide.s32", x.reg(v), x.reg(v.Args[0]), x.operand(v.Args[1]))
	case ir.OpMulWideU:
		x.op("mul.wide.u32", x.reg(v), x.reg(v.Args[0]), x.operand(v.Args[1]))
	case ir.OpClz:
		x.op("clz."+bitTypes[v.Args[0].Type.Kind], x.reg(v), x.reg(v.Args[0]))
	case ir.OpPopc:
		x.op("popc."+bitTypes[v.Args[0].Type.Kind], x.reg(v), x.reg(v.Args[0]))
	case ir.OpBrev:
		x.op("brev."+bitTypes[kind], x.reg(v), x.reg(v.Args[0]))
	case ir.OpBswap:
		x.op("prmt.b32", x.reg(v), x.reg(v.Args[0]), build.Int(0), build.Int(0x0123))
	case ir.OpFunnel:
		x.funnel(v)
	case ir.OpLop3:
		x.lop3(v)
	case ir.OpNot:
		x.op("not."+bitTypes[kind], x.reg(v), x.reg(v.Args[0]))
	case ir.OpZExt8:
		x.op("and.b32", x.reg(v), x.operand(v.Args[0]), build.Int(0xff))
	case ir.OpZExt16:
		x.op("and.b32", x.reg(v), x.operand(v.Args[0]), build.Int(0xffff))
	case ir.OpICmp:
		x.compare(v)
	}
}

var condNames = [...]string{"eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge"}

func (x *fn) compare(v *ir.Value) {
	a, b, cond := v.Args[0], v.Args[1], ir.Cond(v.Aux)
	if a.Type == ir.TBool {
		r := x.reg(v)
		x.op("xor.pred", r, x.reg(a), x.reg(b))
		if cond == ir.Eq {
			x.op("not.pred", r, r)
		}
		return
	}
	types := signedTypes
	if cond >= ir.ULt {
		types = unsignedTypes
	}
	if cond == ir.Eq && (ofLop3(a) || ofLop3(b)) {
		x.op("setp.ne."+types[a.Type.Kind], x.reg(v), x.operand(a), x.operand(b))
		x.op("not.pred", x.reg(v), x.reg(v))
		return
	}
	x.op("setp."+condNames[cond]+"."+types[a.Type.Kind], x.reg(v), x.operand(a), x.operand(b))
}

// lop3 emits a logical operation with three operands. If two operands are equal, it emits other
// instructions, because ptxas 12.4 and 13.0 wrongly combine a lop3 that has equal operands with a
// later and. For example, they compile lop3.b32 d, a, b, a, 0xb8; and.b32 d, d, a; to a & ^b, although
// the result must be a.
func (x *fn) lop3(v *ir.Value) {
	a, b, c, table := resolve(v.Args[0]), resolve(v.Args[1]), resolve(v.Args[2]), v.Aux
	// two is the truth table of the two distinct operands p and q. Bit 2p+q of two is the result for the
	// bits p and q.
	bit := func(i int) int64 { return table >> i & 1 }
	var p, q *ir.Value
	var two int64
	switch {
	case a == b:
		p, q, two = a, c, bit(0)|bit(1)<<1|bit(6)<<2|bit(7)<<3
	case a == c:
		p, q, two = a, b, bit(0)|bit(2)<<1|bit(5)<<2|bit(7)<<3
	case b == c:
		p, q, two = a, b, bit(0)|bit(3)<<1|bit(4)<<2|bit(7)<<3
	default:
		x.op("lop3.b32", x.reg(v), x.operand(a), x.operand(b), x.operand(c), build.Int(table))
		return
	}
	if p == q {
		two = (two&1)*3 | (two>>3&1)*12 // p alone decides
	}
	x.logic(x.reg(v), x.operand(p), x.operand(q), two)
}

// logic computes bit 2p+q of a table for each two bits p and q.
func (x *fn) logic(r build.Reg, p, q build.Operand, table int64) {
	not := func(o build.Operand) build.Operand {
		t := x.temp(ir.I32)
		x.op("not.b32", t, o)
		return t
	}
	if table&1 != 0 && table != 0xf { // the complement is 0 where p and q are 0
		t := x.temp(ir.I32)
		x.logic(t, p, q, ^table&0xf)
		x.op("not.b32", r, t)
		return
	}
	switch table {
	case 0:
		x.op("mov.b32", r, build.Int(0))
	case 0xf:
		x.op("mov.b32", r, build.Int(-1))
	case 2:
		x.op("and.b32", r, not(p), q)
	case 4:
		x.op("and.b32", r, p, not(q))
	case 6:
		x.op("xor.b32", r, p, q)
	case 8:
		x.op("and.b32", r, p, q)
	case 0xa:
		x.op("mov.b32", r, q)
	case 0xc:
		x.op("mov.b32", r, p)
	case 0xe:
		x.op("or.b32", r, p, q)
	}
}

// ofLop3 reports whether v is the result of a lop3, or of inline PTX that contains it. Ptxas 12.4 to
// 13.0 crashes when setp.eq compares such a result with 0 for a branch. It does not crash with setp.ne.
func ofLop3(v *ir.Value) bool {
	v = resolve(v)
	if v.Op == ir.OpExtract {
		v = v.Args[0]
	}
	return v.Op == ir.OpLop3 || v.Op == ir.OpAsm && strings.Contains(v.Sym, "lop3")
}

func (x *fn) other(v *ir.Value) {
	switch v.Op {
	case ir.OpCopy, ir.OpPin, ir.OpExtract, ir.OpUndef:
	case ir.OpParam:
		x.param(v)
	case ir.OpSpecial:
		x.special(v)
	case ir.OpSlot:
		x.op("mov.u64", x.reg(v), x.slots[v.Aux])
	case ir.OpGlobal:
		if x.hidden[v.Var] {
			x.hiddenAddress(v)
			return
		}
		x.op("mov.u64", x.reg(v), x.m.vars[v.Var])
	case ir.OpSelect:
		x.selectValue(v)
	case ir.OpBitcast:
		x.bitcast(v)
	case ir.OpCheck:
		x.check(v)
	case ir.OpCall:
		x.call(v)
	case ir.OpAsm:
		x.asm(v)
	default:
		x.fail("no PTX for %s", v.Text())
	}
}

// selectValue emits a conditional select. PTX has no selp for predicates, so those use logical
// instructions.
func (x *fn) selectValue(v *ir.Value) {
	cond, not := strip(v.Args[0])
	a, b := v.Args[1], v.Args[2]
	if not {
		a, b = b, a
	}
	p := x.reg(cond)
	if v.Type != ir.TBool {
		x.op("selp."+movTypes[v.Type.Kind], x.reg(v), x.operand(a), x.operand(b), p)
		return
	}
	// (p AND a) OR (NOT p AND b)
	r, t, n := x.reg(v), x.temp(ir.Bool), x.temp(ir.Bool)
	x.op("and.pred", t, p, x.reg(a))
	x.op("not.pred", n, p)
	x.op("and.pred", n, n, x.reg(b))
	x.op("or.pred", r, t, n)
}

func (x *fn) bitcast(v *ir.Value) {
	from, to := v.Args[0].Type.Kind, v.Type.Kind
	switch {
	case from == ir.F16 || from == ir.BF16:
		x.op("cvt.u32.u16", x.reg(v), x.reg(v.Args[0]))
	case to == ir.F16 || to == ir.BF16:
		x.op("cvt.u16.u32", x.reg(v), x.reg(v.Args[0]))
	case to.Bits() == 32:
		x.op("mov.b32", x.reg(v), x.reg(v.Args[0]))
	default:
		x.op("mov.b64", x.reg(v), x.reg(v.Args[0]))
	}
}

// wide lists 64-bit special registers. Those whose names end in _64 are 64 bits wide as well and
// are not listed.
var wide = map[string]bool{"%clock64": true, "%globaltimer": true, "%gridid": true, "%current_graph_exec": true}

func (x *fn) special(v *ir.Value) {
	is64 := wide[v.Sym] || strings.HasSuffix(v.Sym, "_64")
	s, r := build.Special(v.Sym), x.reg(v)
	switch want64 := v.Type.Kind == ir.I64; {
	case is64 == want64 && is64:
		x.op("mov.u64", r, s)
	case is64 == want64:
		x.op("mov.u32", r, s)
	case want64:
		t := x.temp(ir.I32)
		x.op("mov.u32", t, s)
		x.op("cvt.u64.u32", r, t)
	default:
		t := x.temp(ir.I64)
		x.op("mov.u64", t, s)
		x.op("cvt.u32.u64", r, t)
	}
}

package ir

import "fmt"

// check returns a description of a type error in the instruction, or "" if there is none.
func check(f *Func, v *Value) string {
	c := &checker{v: v}
	switch op := v.Op; {
	case op == Invalid || op >= numOps:
		return "not an instruction"
	case op >= OpAdd && op <= OpLop3:
		c.integer()
	case op >= OpSExt8 && op <= OpTrunc:
		c.width()
	case op == OpICmp || op == OpFCmp:
		c.compare()
	case op >= OpFAdd && op <= OpBitcast:
		c.float()
	case op >= OpPtrAdd && op <= OpFence:
		c.memory()
	default:
		c.other(f)
	}
	return c.msg
}

type checker struct {
	v   *Value
	msg string
}

func (c *checker) need(ok bool, format string, args ...any) bool {
	if !ok && c.msg == "" {
		c.msg = fmt.Sprintf(format, args...)
	}
	return ok
}

func (c *checker) args(n int) bool {
	return c.need(len(c.v.Args) == n, "%d operands, not %d", len(c.v.Args), n)
}

func (c *checker) arg(i int, types ...Type) {
	c.need(one(c.v.Args[i].Type, types), "operand %d is %s", i, c.v.Args[i].Type)
}

func (c *checker) result(types ...Type) { c.need(one(c.v.Type, types), "the result is %s", c.v.Type) }

func one(t Type, types []Type) bool {
	for _, x := range types {
		if t == x {
			return true
		}
	}
	return false
}

func (c *checker) integer() {
	v := c.v
	switch v.Op {
	case OpShl, OpLShr, OpAShr:
		if c.args(2) {
			c.result(TI32, TI64)
			c.arg(0, v.Type)
			c.arg(1, TI32)
		}
	case OpMulWideS, OpMulWideU:
		if c.args(2) {
			c.result(TI64)
			c.arg(0, TI32)
			c.arg(1, TI32)
		}
	case OpClz, OpPopc:
		if c.args(1) {
			c.result(TI32)
			c.arg(0, TI32, TI64)
		}
	case OpBswap:
		if c.args(1) {
			c.result(TI32)
			c.arg(0, TI32)
		}
	case OpLop3:
		if c.args(3) {
			c.result(TI32)
			c.need(v.Aux >= 0 && v.Aux <= 0xff, "a table of %d", v.Aux)
			for i := range v.Args {
				c.arg(i, TI32)
			}
		}
	case OpFunnel:
		if c.args(3) {
			c.result(TI32, TI64)
			c.arg(0, v.Type)
			c.arg(1, v.Type)
			c.arg(2, TI32)
			n := v.Args[2]
			c.need(v.Type == TI32 || v.Type == TI64 && n.Op == OpConst && n.Aux > 0 && n.Aux < 64, "a funnel shift of type %s by %s", v.Type, n)
		}
	case OpNot, OpBrev:
		if c.args(1) {
			c.arg(0, v.Type)
			c.need(v.Type.Kind.IsInt() || v.Op == OpNot && v.Type == TBool, "the result is %s", v.Type)
		}
	default:
		if c.args(2) {
			c.arg(0, v.Type)
			c.arg(1, v.Type)
			logical := v.Op == OpAnd || v.Op == OpOr || v.Op == OpXor
			c.need(v.Type.Kind.IsInt() || logical && v.Type == TBool, "the result is %s", v.Type)
		}
	}
}

func (c *checker) width() {
	if !c.args(1) {
		return
	}
	from, to := TI32, TI32
	switch c.v.Op {
	case OpSExt32, OpZExt32:
		to = TI64
	case OpTrunc:
		from = TI64
	}
	c.arg(0, from)
	c.result(to)
}

func (c *checker) compare() {
	v := c.v
	if !c.args(2) {
		return
	}
	c.result(TBool)
	t, cond := v.Args[0].Type, Cond(v.Aux)
	c.need(v.Args[1].Type == t, "%s compared with %s", t, v.Args[1].Type)
	equality := cond == Eq || cond == Ne
	if v.Op == OpFCmp {
		c.need(t.Kind.IsFloat() && (equality || cond >= FLt && cond <= FGe), "%s of %s", cond, t)
		return
	}
	c.need(cond <= UGe && (t.Kind.IsInt() || t.Kind == Ptr || t == TBool && equality), "%s of %s", cond, t)
}

func (c *checker) float() {
	v := c.v
	n := 2
	switch {
	case v.Op == OpFMA:
		n = 3
	case v.Op >= OpFNeg && v.Op <= OpFSqrt, v.Op >= OpFInt:
		n = 1
	}
	if !c.args(n) {
		return
	}
	from, to := v.Args[0].Type.Kind, v.Type.Kind
	switch v.Op {
	case OpSToF, OpUToF:
		c.need(from.IsInt() && to.IsFloat(), "%s to %s", from, to)
	case OpFToS, OpFToU:
		c.need(from.IsFloat() && to.IsInt(), "%s to %s", from, to)
	case OpFConv:
		c.need(from.IsFloat() && to.IsFloat(), "%s to %s", from, to)
	case OpBitcast:
		c.need(castable(from, to) || castable(to, from), "%s to %s", from, to)
	default:
		c.need(to.IsFloat(), "the result is %s", v.Type)
		for i := range v.Args {
			c.arg(i, v.Type)
		}
	}
}

func castable(a, b Kind) bool {
	return a == I32 && (b == F32 || b == F16 || b == BF16) || a == I64 && (b == F64 || b == Ptr)
}

func (c *checker) memory() {
	v := c.v
	if v.Op == OpFence {
		c.args(0)
		c.result(TNone)
		c.need(v.Aux >= 0 && v.Aux < int64(len(scopeNames)), "scope %d", v.Aux)
		return
	}
	if !c.need(len(v.Args) > 0 && v.Args[0].Type.Kind == Ptr, "no address") {
		return
	}
	t := v.Mem.Type()
	switch v.Op {
	case OpPtrAdd:
		if c.args(2) {
			c.arg(1, TI64)
			c.result(v.Args[0].Type)
		}
		return
	case OpSpaceCast:
		c.args(1)
		c.need(v.Type.Kind == Ptr, "the result is %s", v.Type)
		s, d := v.Args[0].Type.Space, v.Type.Space
		c.need(s != d && (s == Generic || d == Generic), "%s to %s", s, d)
		return
	}
	c.need(v.Mem != MNone, "no type of memory")
	switch v.Op {
	case OpLoad:
		c.args(1)
		c.result(t)
	case OpStore:
		if c.args(2) {
			c.arg(1, t)
			c.result(TNone)
		}
	case OpLoadV, OpStoreV:
		c.vector(t)
	case OpCAS:
		if c.args(3) {
			c.arg(1, t)
			c.arg(2, t)
			c.result(t)
		}
	case OpAtomic:
		c.atomic(t)
	}
}

func (c *checker) vector(t Type) {
	v := c.v
	c.need((v.N == 2 || v.N == 4 || v.Mem != MBool && (v.N == 8 || v.N == 16)) && v.N*v.Mem.Size() <= 16, "a vector of %d %s", v.N, v.Mem)
	n := 1 // the address, and for a store the elements
	if v.Op == OpStoreV {
		n += v.N
	}
	if len(v.Args) == n+1 {
		c.arg(n, TBool)
	} else {
		c.args(n)
	}
	if v.Op == OpLoadV {
		c.need(v.Type == TTuple && len(v.Tuple) == v.N, "the result is not a tuple of %d", v.N)
		for _, r := range v.Tuple {
			c.need(r == t, "a result is %s", r)
		}
		return
	}
	if len(v.Args) >= n {
		c.result(TNone)
		for i := range v.N {
			c.arg(1+i, t)
		}
	}
}

func (c *checker) atomic(t Type) {
	v := c.v
	switch v.Atomic.Op {
	case RMWLoad:
		c.args(1)
		c.result(t)
		return
	case RMWStore:
		c.result(TNone)
	default:
		c.result(t)
	}
	if c.args(2) {
		c.arg(1, t)
	}
	if v.Atomic.Op < RMWXchg && v.Atomic.Op != RMWAdd || v.Atomic.Op == RMWInc || v.Atomic.Op == RMWDec {
		c.need(t.Kind.IsInt(), "%s of %s", v.Atomic.Op, t)
	}
}

func (c *checker) other(f *Func) {
	v := c.v
	switch v.Op {
	case OpUndef:
		c.args(0)
		c.need(v.Type.Kind != None && v.Type.Kind != Tuple, "the result is %s", v.Type)
	case OpParam:
		c.args(0)
		part := f.Part(int(v.Aux))
		if c.need(part != nil, "no part %d", v.Aux) {
			c.result(part.Type())
		}
	case OpSpecial:
		c.args(0)
		c.result(TI32, TI64)
	case OpSlot:
		c.args(0)
		c.need(v.Aux >= 0 && v.Aux < int64(len(f.Slots)), "no slot %d", v.Aux)
		c.result(PtrTo(Local))
	case OpGlobal:
		c.args(0)
		if c.need(v.Var != nil, "no variable") {
			c.result(PtrTo(v.Var.Space))
		}
	case OpExtract:
		if c.args(1) {
			t := v.Args[0]
			if c.need(t.Type == TTuple && v.Aux >= 0 && v.Aux < int64(len(t.Tuple)), "not a result of a tuple") {
				c.result(t.Tuple[v.Aux])
			}
		}
	case OpSelect:
		if c.args(3) {
			c.arg(0, TBool)
			c.arg(1, v.Type)
			c.arg(2, v.Type)
			c.need(v.Type.Kind != None && v.Type.Kind != Tuple, "the result is %s", v.Type)
		}
	case OpCopy, OpPin:
		if c.args(1) {
			c.arg(0, v.Type)
			c.need(v.Op == OpCopy || v.Type.Kind.IsFloat(), "the result is %s", v.Type)
		}
	case OpCheck:
		c.result(TNone)
		c.need(v.Site != nil, "no site")
		if c.need(len(v.Args) >= 1 && len(v.Args) <= 4, "%d operands", len(v.Args)) {
			c.arg(0, TBool)
			for i := range v.Args[1:] {
				c.arg(1+i, TI64)
			}
		}
	case OpCall:
		c.call()
	case OpAsm:
		c.need(v.Sym != "", "no text")
		c.need((v.Type == TTuple) == (len(v.Tuple) > 0), "a tuple without types, or types without a tuple")
	}
}

func (c *checker) call() {
	v := c.v
	if !c.need(v.Callee != nil && !v.Callee.Kernel, "not a function") {
		return
	}
	if c.args(len(v.Callee.Params)) {
		for i, p := range v.Callee.Params {
			if c.need(len(p.Parts) == 1, "parameter %d has %d parts", i, len(p.Parts)) {
				c.arg(i, p.Parts[0].Type())
			}
		}
	}
	switch r := v.Callee.Results; len(r) {
	case 0:
		c.result(TNone)
	case 1:
		c.result(r[0])
	default:
		c.need(v.Type == TTuple && len(v.Tuple) == len(r), "not a tuple of %d", len(r))
		for i := range min(len(r), len(v.Tuple)) {
			c.need(v.Tuple[i] == r[i], "result %d is %s", i, v.Tuple[i])
		}
	}
}

// Part returns part i, counted across all parameters, or nil if there is no such part.
func (f *Func) Part(i int) *Part {
	for p := range f.Params {
		if i < 0 {
			return nil
		}
		if parts := f.Params[p].Parts; i < len(parts) {
			return &parts[i]
		}
		i -= len(f.Params[p].Parts)
	}
	return nil
}

// Type returns the type of a register that holds the part.
func (p *Part) Type() Type {
	if p.Mem == MPtr {
		return PtrTo(p.Space)
	}
	return p.Mem.Type()
}

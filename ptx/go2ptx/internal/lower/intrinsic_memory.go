package lower

import (
	"fmt"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// sharedVar returns the variable for a call of Shared. It is the same variable each time the call
// is lowered.
func (c *icall) sharedVar() []leaf {
	t := c.typeArg(0)
	lay := c.layoutAt(t, c.n.Pos())
	if lay.static() {
		c.errorf(c.n, "func-in-memory")
		return nil
	}
	key := varKey{pos: c.n.Pos(), text: c.l.typeName(t) + " " + c.l.envText(c.env)}
	m := c.l.vars[key]
	if m == nil {
		m = &moduleVar{v: &ir.Var{Name: c.l.unique("shared"), Space: ir.Shared, Size: int(max(lay.size, 1)), Align: int(max(lay.align, 16))}}
		c.l.vars[key] = m
		c.l.mod.Vars = append(c.l.mod.Vars, m.v)
		if kind, _ := headerIn(t); kind != "" {
			c.l.headers = append(c.l.headers, header{m.v, c.n.Pos(), t})
		}
	}
	return []leaf{c.global(m.v)}
}

// dynamicShared returns the dynamic shared memory.
func (c *icall) dynamicShared() []leaf {
	t := c.typeArg(0)
	lay := c.layoutAt(t, c.n.Pos())
	if kind, _ := headerIn(t); kind != "" || lay.static() {
		c.errorf(c.n, "shared-dynamic", c.typeText(t))
		return nil
	}
	key := varKey{text: "dynamic shared memory"}
	m := c.l.vars[key]
	if m == nil {
		m = &moduleVar{v: &ir.Var{Name: c.l.unique("dynamic_shared"), Space: ir.Shared, Align: 16, Extern: true}}
		c.l.vars[key] = m
		c.l.mod.Vars = append(c.l.mod.Vars, m.v)
	}
	size := c.wide(c.special("%dynamic_smem_size"), false)
	n := c.op(ir.OpUDiv, ir.TI64, size, c.int(max(lay.size, 1)))
	return []leaf{c.global(m.v), n, n}
}

// pointee returns pointer argument i and the type it points to, which must be one that atomic
// operations support.
func (c *icall) pointee(i int) (*ir.Value, *leafType) {
	list := c.operands()
	if i < len(list) {
		if pt, ok := under(list[i].typ).(*types.Pointer); ok {
			if lay := c.l.layout(pt.Elem()); lay.leaf != nil && lay.leaf.mem != ir.MNone {
				x := c.deref(c.n, list[i])
				if x.v != nil || x.ptr != nil {
					p, disp := c.address(x)
					return c.ptrAdd(p, c.int(disp)), lay.leaf
				}
			}
		}
	}
	return c.undef(ir.TPtr), &leafType{mem: ir.M32, typ: types.Typ[types.Int32]}
}

// options reads the scope and memory order of an atomic operation.
func (c *icall) options(i int) (a ir.Atomic) {
	list := c.operands()
	if i >= len(list) || len(list[i].leaves) != 3 {
		return a
	}
	n := c.value(list[i].leaves[1])
	for j := range int64(8) {
		if n.Op == ir.OpConst && j >= n.Aux {
			break
		}
		x := c.load(c.sliceElement(list[i], list[i].typ.Underlying().(*types.Slice).Elem(), c.int(j), false))
		v := c.scalar(x)
		if n.Op != ir.OpConst || v.Op != ir.OpConst {
			c.errorf(c.n, "const-arg", "options", c.name)
			break
		}
		switch v.Aux {
		case 1:
			a.Scope = ir.ScopeBlock
		case 2:
			a.Scope = ir.ScopeCluster
		case 4:
			a.Scope = ir.ScopeSystem
		case 17:
			a.Order = ir.Acquire
		case 18:
			a.Order = ir.Release
		case 19:
			a.Order = ir.AcqRel
		}
	}
	return a
}

// rmw returns an intrinsic for an atomic read-modify-write operation.
func rmw(signed, unsigned ir.RMW, before func(c *icall, v *ir.Value) *ir.Value) func(*icall) []leaf {
	return func(c *icall) []leaf {
		p, lt := c.pointee(0)
		v := c.x(1)
		if before != nil {
			v = before(c, v)
		}
		a := c.options(2)
		a.Op = unsigned
		if isSigned(lt.typ) {
			a.Op = signed
		}
		r := c.emit(ir.OpAtomic, lt.regType(), p, v)
		r.Mem, r.Atomic = lt.mem, a
		return []leaf{r}
	}
}

// bitsMem returns the integer type of the same size, which is used to exchange a number's bits.
func bitsMem(m ir.Mem) ir.Mem {
	switch m {
	case ir.MF32:
		return ir.M32
	case ir.MF64:
		return ir.M64
	case ir.MF16, ir.MBF16:
		return ir.MU16
	}
	return m
}

func (c *icall) asBits(v *ir.Value) *ir.Value {
	switch v.Type.Kind {
	case ir.F32, ir.F16, ir.BF16:
		return c.op(ir.OpBitcast, ir.TI32, v)
	case ir.F64:
		return c.op(ir.OpBitcast, ir.TI64, v)
	}
	return v
}

func (c *icall) ofBits(v *ir.Value, lt *leafType) *ir.Value {
	if t := lt.regType(); t != v.Type {
		return c.op(ir.OpBitcast, t, v)
	}
	return v
}

// bitwise returns an intrinsic for an atomic operation that treats its operand as bits.
func bitwise(op ir.RMW) func(*icall) []leaf {
	return func(c *icall) []leaf {
		p, lt := c.pointee(0)
		m := bitsMem(lt.mem)
		args := []*ir.Value{p}
		options := 1
		if op != ir.RMWLoad {
			args = append(args, c.asBits(c.x(1)))
			options = 2
		}
		t := m.Type()
		if op == ir.RMWStore {
			t = ir.TNone
		}
		a := c.options(options)
		if op == ir.RMWXchg && m.Size() == 2 {
			return []leaf{c.ofBits(c.exchange16(p, args[1], m, a), lt)}
		}
		a.Op = op
		r := c.emit(ir.OpAtomic, t, args...)
		r.Mem, r.Atomic = m, a
		if op == ir.RMWStore {
			return nil
		}
		return []leaf{c.ofBits(r, lt)}
	}
}

// exchange16 exchanges a 16-bit value. PTX has no such instruction, so it loops with a 16-bit
// compare-and-swap.
func (c *icall) exchange16(p, v *ir.Value, m ir.Mem, a ir.Atomic) *ir.Value {
	t := types.Typ[types.Int32]
	first := c.emit(ir.OpAtomic, ir.TI32, p)
	first.Mem, first.Atomic = m, ir.Atomic{Op: ir.RMWLoad, Scope: a.Scope}
	old := c.whole(c.temp("old", t, c.n.Pos(), tagIter, single(t, first)))
	head, end := c.newBlock(), c.newBlock()
	c.jump(head)
	c.start(head)
	before := c.scalar(c.load(old))
	r := c.emit(ir.OpCAS, ir.TI32, p, before, v)
	r.Mem, r.Atomic = m, a
	c.store(old, single(t, r))
	c.branch(c.cmp(ir.Eq, r, before), end, head)
	c.seal(head)
	c.enter(end)
	return r
}

func compareAndSwap(c *icall) []leaf {
	p, lt := c.pointee(0)
	m := bitsMem(lt.mem)
	old := c.asBits(c.x(1))
	r := c.emit(ir.OpCAS, m.Type(), p, old, c.asBits(c.x(2)))
	r.Mem, r.Atomic = m, c.options(3)
	return []leaf{c.ofBits(r, lt), c.cmp(ir.Eq, r, old)}
}

// hinted returns an intrinsic for a load or store with a cache hint. The type may be an array that
// a single instruction can access.
func hinted(hints []ir.Hint, fixed ir.Hint, store bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		list := c.operands()
		h := fixed
		if hints != nil {
			n := c.constArg(len(list)-1, "hint")
			if n < 0 || n >= int64(len(hints)) {
				return c.fail("unknown hint", "use a constant of package gpu")
			}
			h = hints[n]
		}
		x := c.deref(c.n, list[0])
		if x.v != nil && !x.v.mem {
			c.demote(x.v)
			return nil
		}
		x.vec = true
		before := len(c.cur.Values)
		var leaves []leaf
		if store {
			c.store(x, list[1])
		} else {
			leaves = c.load(x).leaves
		}
		for _, v := range c.cur.Values[before:] {
			switch v.Op {
			case ir.OpLoad, ir.OpLoadV, ir.OpStore, ir.OpStoreV:
				v.Hint = h
			}
		}
		return leaves
	}
}

// pointerArg returns a pointer argument converted to state space s.
func (c *icall) pointerArg(i int, s ir.Space) *ir.Value {
	x := c.deref(c.n, c.operands()[i])
	if x.none {
		return c.undef(ir.PtrTo(s))
	}
	p, disp := c.address(x)
	return c.castSpace(c.ptrAdd(p, c.int(disp)), s)
}

func (b *builder) castSpace(p *ir.Value, s ir.Space) *ir.Value {
	if p.Op == ir.OpUndef {
		return b.undef(ir.PtrTo(s))
	}
	return b.emit(ir.OpSpaceCast, ir.PtrTo(s), p)
}

const asyncCopy = ir.Reads | ir.Writes | ir.Fences

// copyAsync returns the intrinsic for CopyAsync or CopyAsyncIf.
func copyAsync(conditional bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		size := c.layoutAt(c.typeArg(0), c.n.Pos()).size
		if size != 4 && size != 8 && size != 16 {
			return c.fail("the type has a size other than 4, 8 and 16 bytes", "copy elements of such a size")
		}
		kind := "ca"
		if size == 16 {
			kind = "cg"
		}
		dst, src := c.pointerArg(0, ir.Shared), c.pointerArg(1, ir.Global)
		text := fmt.Sprintf("cp.async.%s.shared.global [%%0], [%%1], %d;", kind, size)
		args := []*ir.Value{dst, src}
		if conditional {
			text = fmt.Sprintf("cp.async.%s.shared.global [%%0], [%%1], %d, %%2;", kind, size)
			args = append(args, c.sel(c.x(2), c.int32(size), c.int32(0)))
		}
		c.asm(ir.TNone, asyncCopy, text, args...)
		return nil
	}
}

func waitGroup(text string) func(*icall) []leaf {
	return func(c *icall) []leaf {
		n := c.constArg(0, "n")
		if n < 0 || n > 1000 {
			return c.fail("n is out of range", "wait for 0 to 1000 groups")
		}
		c.asm(ir.TNone, asyncCopy, fmt.Sprintf(text, n))
		return nil
	}
}

func prefetch(level string) func(*icall) []leaf {
	return func(c *icall) []leaf {
		c.asm(ir.TNone, ir.Reads|ir.Writes, "prefetch.global."+level+" [%0];", c.pointerArg(0, ir.Global))
		return nil
	}
}

var (
	loadHints  = []ir.Hint{ir.HintCA, ir.HintCG, ir.HintCS, ir.HintLU, ir.HintCV}
	storeHints = []ir.Hint{ir.HintWB, ir.HintCG, ir.HintCS, ir.HintWB, ir.HintWT}
)

var _ = register(pathGPU, map[string]func(*icall) []leaf{
	"Shared":        (*icall).sharedVar,
	"DynamicShared": (*icall).dynamicShared,
	"MapShared": func(c *icall) []leaf {
		p := c.asm(ir.TPtr, 0, "mapa.u64 $0, %0, %1;", c.pointerArg(0, ir.Generic), c.i32(1))
		c.nonnil[p] = true
		return []leaf{p}
	},
	"Global.Ptr":   func(c *icall) []leaf { return c.args[0].leaves },
	"Constant.Ptr": func(c *icall) []leaf { return c.args[0].leaves },
	"checkIndex": func(c *icall) []leaf {
		c.checkIndex(c.x(0), c.x(1))
		return nil
	},
	"sliceAt": func(c *icall) []leaf { return []leaf{c.args[0].one(), c.args[1].one(), c.args[1].one()} },
	"dataOf":  func(c *icall) []leaf { return c.args[0].leaves[:1] },
	"offset": func(c *icall) []leaf {
		p := c.advance(c.args[0].one(), c.x(1), c.l.layout(c.typeArg(0)))
		if v, ok := p.(*ir.Value); ok {
			c.nonnil[v] = true
		}
		return []leaf{p}
	},
	"pointerAt": func(c *icall) []leaf {
		return []leaf{c.castSpace(c.op(ir.OpBitcast, ir.TPtr, c.x(0)), ir.Global)}
	},

	"AtomicAdd": rmw(ir.RMWAdd, ir.RMWAdd, nil),
	"AtomicSub": rmw(ir.RMWAdd, ir.RMWAdd, func(c *icall, v *ir.Value) *ir.Value {
		if v.Type.Kind.IsFloat() {
			return c.op(ir.OpFNeg, v.Type, v)
		}
		return c.sub(c.num(v.Type, 0), v)
	}),
	"AtomicMin":            rmw(ir.RMWSMin, ir.RMWUMin, nil),
	"AtomicMax":            rmw(ir.RMWSMax, ir.RMWUMax, nil),
	"AtomicAnd":            rmw(ir.RMWAnd, ir.RMWAnd, nil),
	"AtomicOr":             rmw(ir.RMWOr, ir.RMWOr, nil),
	"AtomicXor":            rmw(ir.RMWXor, ir.RMWXor, nil),
	"AtomicInc":            rmw(ir.RMWInc, ir.RMWInc, nil),
	"AtomicDec":            rmw(ir.RMWDec, ir.RMWDec, nil),
	"AtomicExchange":       bitwise(ir.RMWXchg),
	"AtomicLoad":           bitwise(ir.RMWLoad),
	"AtomicStore":          bitwise(ir.RMWStore),
	"AtomicCompareAndSwap": compareAndSwap,

	"LoadNC":                 hinted(nil, ir.HintNC, false),
	"LoadCached":             hinted(loadHints, 0, false),
	"StoreCached":            hinted(storeHints, 0, true),
	"LoadVolatile":           hinted(nil, ir.HintVolatile, false),
	"StoreVolatile":          hinted(nil, ir.HintVolatile, true),
	"PrefetchL1":             prefetch("L1"),
	"PrefetchL2":             prefetch("L2"),
	"CopyAsync":              copyAsync(false),
	"CopyAsyncIf":            copyAsync(true),
	"Thread.CommitGroup":     text32("cp.async.commit_group;", asyncCopy, ir.TNone),
	"Thread.WaitGroup":       waitGroup("cp.async.wait_group %d;"),
	"Thread.CommitBulkGroup": text32("cp.async.bulk.commit_group;", asyncCopy, ir.TNone),
	"Thread.WaitBulkGroup":   waitGroup("cp.async.bulk.wait_group %d;"),
})

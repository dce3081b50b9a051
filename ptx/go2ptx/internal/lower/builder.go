package lower

import (
	"go/token"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// builder makes one ir.Func.
type builder struct {
	l     *lowerer
	f     *ir.Func
	entry *ir.Block
	cur   *ir.Block
	dead  bool // no path leads to cur
	pos   ir.Pos
	site  int   // the chain of calls being inlined, the same in each attempt
	loop  *loop // the innermost loop around cur, in all functions inlined

	info   map[*ir.Block]*blockInfo
	repl   map[*ir.Value]*ir.Value // phis that turned out to be another value
	phis   []*ir.Value
	slots  map[*variable]*ir.Value
	nonnil map[*ir.Value]bool
	vector map[*ir.Value]bool  // pointers to arrays that were converted from slices
	home   map[*ir.Value]*loop // of addresses of local variables: where the variable is declared
	budget int
	casts  *[]*ir.Value // where casts are added
	late   []*ir.Value  // at the end of the block
	work   []*ir.Block  // of static
	// searches numbers the searches of static.
	searches int
	// scratch means that the function only evaluates constants.
	scratch bool
}

// A loop identifies a loop in the function. The root of the tree is nil.
type loop struct{ outer *loop }

// contains reports whether l is in, or is, the loop outer.
func (l *loop) in(outer *loop) bool {
	for ; l != nil; l = l.outer {
		if l == outer {
			return true
		}
	}
	return outer == nil
}

// maxValues limits the size of a function. Calls are inlined, so a small program can be large.
const maxValues = 1_000_000

func newBuilder(l *lowerer, f *ir.Func) *builder {
	b := &builder{l: l, f: f, info: map[*ir.Block]*blockInfo{}, repl: map[*ir.Value]*ir.Value{},
		slots: map[*variable]*ir.Value{}, nonnil: map[*ir.Value]bool{}, vector: map[*ir.Value]bool{},
		home: map[*ir.Value]*loop{}}
	b.entry = b.newBlock()
	b.seal(b.entry)
	b.cur = b.entry
	return b
}

func (b *builder) newBlock() *ir.Block {
	b.spend(10)
	blk := b.f.NewBlock()
	b.info[blk] = &blockInfo{defs: map[part]leaf{}}
	return blk
}

// start continues in blk. If no more predecessors can come and there are none, the code is dead.
func (b *builder) start(blk *ir.Block) {
	b.cur = blk
	b.dead = b.info[blk].sealed && len(blk.Preds) == 0 && blk != b.entry
}

// enter seals blk and continues in it.
func (b *builder) enter(blk *ir.Block) {
	b.seal(blk)
	b.start(blk)
}

// stop continues in a block that no path leads to.
func (b *builder) stop() {
	b.cur = b.newBlock()
	b.info[b.cur].sealed = true
	b.dead = true
}

func (b *builder) jump(to *ir.Block) {
	if !b.dead {
		b.cur.Term.Pos = b.pos
		b.cur.Jump(to)
	}
	b.stop()
}

func (b *builder) branch(cond *ir.Value, then, els *ir.Block) {
	switch {
	case cond.Op == ir.OpConst && cond.Aux != 0:
		b.jump(then)
	case cond.Op == ir.OpConst:
		b.jump(els)
	default:
		if !b.dead {
			b.cur.Term.Pos = b.pos
			b.cur.If(cond, then, els)
		}
		b.stop()
	}
}

func (b *builder) exit() {
	b.cur.Term.Pos = b.pos
	b.cur.Exit()
	b.stop()
}

// emit appends an instruction.
func (b *builder) emit(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	b.spend(1)
	v := b.f.NewValue(op, t, args...)
	v.Pos = b.pos
	return b.cur.Append(v)
}

// spend limits what a function costs, in instructions. A block costs more than an instruction.
func (b *builder) spend(n int) {
	if b.budget += n; b.budget > maxValues {
		panic(tooLarge{})
	}
}

// tooLarge is the panic of a function that exceeds maxValues.
type tooLarge struct{}

func (b *builder) int(n int64) *ir.Value        { return b.f.Const(ir.TI64, n) }
func (b *builder) int32(n int64) *ir.Value      { return b.f.Const(ir.TI32, int64(int32(n))) }
func (b *builder) null() *ir.Value              { return b.f.Const(ir.TPtr, 0) }
func (b *builder) undef(t ir.Type) *ir.Value    { return b.f.NewValue(ir.OpUndef, t) }
func (b *builder) not(x *ir.Value) *ir.Value    { return b.op(ir.OpNot, ir.TBool, x) }
func (b *builder) add(x, y *ir.Value) *ir.Value { return b.op(ir.OpAdd, x.Type, x, y) }
func (b *builder) sub(x, y *ir.Value) *ir.Value { return b.op(ir.OpSub, x.Type, x, y) }
func (b *builder) mul(x, y *ir.Value) *ir.Value { return b.op(ir.OpMul, x.Type, x, y) }
func (b *builder) and(x, y *ir.Value) *ir.Value { return b.op(ir.OpAnd, x.Type, x, y) }
func (b *builder) bool(x bool) *ir.Value        { return b.f.Const(ir.TBool, map[bool]int64{true: 1}[x]) }
func (b *builder) zero(t ir.Type) *ir.Value     { return b.f.Const(t, 0) }
func (b *builder) num(t ir.Type, n int64) *ir.Value {
	if t == ir.TI32 {
		return b.int32(n)
	}
	return b.f.Const(t, n)
}

// cmp compares integers, pointers or bools.
func (b *builder) cmp(c ir.Cond, x, y *ir.Value) *ir.Value {
	if r, ok := foldCmp(c, x, y); ok {
		return b.bool(r)
	}
	v := b.emit(ir.OpICmp, ir.TBool, x, y)
	v.Aux = int64(c)
	return v
}

func (b *builder) fcmp(c ir.Cond, x, y *ir.Value) *ir.Value {
	v := b.emit(ir.OpFCmp, ir.TBool, x, y)
	v.Aux = int64(c)
	return v
}

func (b *builder) sel(c, x, y *ir.Value) *ir.Value {
	switch {
	case c.IsConst(1) || same(x, y):
		return x
	case c.IsConst(0):
		return y
	}
	return b.emit(ir.OpSelect, x.Type, c, x, y)
}

// op emits an operation whose only attributes are its operands, or folds it.
func (b *builder) op(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	if r := b.fold(op, t, args); r != nil {
		return r
	}
	return b.emit(op, t, args...)
}

// opAux is emit with Aux.
func (b *builder) opAux(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
	v := b.emit(op, t, args...)
	v.Aux = aux
	return v
}

// ptrAdd adds a number of bytes to an address.
func (b *builder) ptrAdd(p, n *ir.Value) *ir.Value {
	if n.IsConst(0) {
		return p
	}
	v := b.emit(ir.OpPtrAdd, p.Type, p, n)
	if b.nonnil[p] {
		b.nonnil[v] = true
	}
	if h, ok := b.home[p]; ok {
		b.home[v] = h
	}
	return v
}

// check emits a check, unless it cannot fail.
func (b *builder) check(kind, message string, cond *ir.Value, values ...*ir.Value) {
	if cond.IsConst(1) {
		return
	}
	v := b.emit(ir.OpCheck, ir.TNone, append([]*ir.Value{cond}, values...)...)
	v.Site = &ir.Site{Kind: kind, Message: message}
}

// fault emits a check that always fails.
func (b *builder) fault(kind, message string) {
	b.check(kind, message, b.bool(false))
	b.exit()
}

// asm emits PTX text.
func (b *builder) asm(t ir.Type, effect ir.Effect, text string, args ...*ir.Value) *ir.Value {
	v := b.emit(ir.OpAsm, t, args...)
	v.Sym, v.Effect = text, effect
	return v
}

// slot returns the address of a variable in local memory.
func (b *builder) slot(v *variable) *ir.Value {
	if a := b.slots[v]; a != nil {
		return a
	}
	a := b.f.NewValue(ir.OpSlot, ir.PtrTo(ir.Local))
	a.Aux = int64(len(b.f.Slots))
	a.Pos = b.pos
	b.f.Slots = append(b.f.Slots, ir.Slot{Name: v.name, Size: int(max(v.lay.size, 1)), Align: int(max(v.lay.align, 1))})
	b.entry.Prepend(a)
	b.slots[v] = a
	b.nonnil[a] = true
	b.home[a] = v.loop
	return a
}

// global returns the address of a variable of the module.
func (b *builder) global(v *ir.Var) *ir.Value {
	a := b.emit(ir.OpGlobal, ir.PtrTo(v.Space))
	a.Var = v
	b.nonnil[a] = true
	return a
}

// position converts a position in the source.
func (l *lowerer) position(p token.Pos) (ir.Pos, token.Position) {
	at := l.prog.Fset.Position(p)
	if !p.IsValid() {
		return ir.Pos{}, at
	}
	i, ok := l.files[at.Filename]
	if !ok {
		i = int32(len(l.mod.Files))
		l.mod.Files = append(l.mod.Files, at.Filename)
		l.files[at.Filename] = i
	}
	return ir.Pos{File: i, Line: int32(at.Line), Col: int32(at.Column)}, at
}

package lower

import (
	"go/token"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// builder builds an ir.Func.
type builder struct {
	l     *lowerer
	f     *ir.Func
	entry *ir.Block
	cur   *ir.Block
	dead  bool // cur is unreachable
	pos   ir.Pos
	site  int   // identifies the chain of inlined calls; the same in every attempt
	loop  *loop // the innermost loop around cur, across inlined functions

	info    map[*ir.Block]*blockInfo
	repl    map[*ir.Value]*ir.Value // redundant phis and the values that replace them
	phis    []*ir.Value
	slots   map[*variable]*ir.Value
	nonnil  map[*ir.Value]bool
	vector  map[*ir.Value]bool  // array pointers that were converted from slices
	trusted map[*ir.Value]bool  // those of them whose alignment is not checked, because of nobounds
	home    map[*ir.Value]*loop // for the address of a local variable: the loop that declares it
	budget  int
	casts   *[]*ir.Value // the list that receives new casts
	late    []*ir.Value  // casts to add at the end of the block
	work    []*ir.Block  // scratch space of static
	// searches is the number of the current search by static.
	searches int
	// scratch is set if the function exists only to evaluate constants.
	scratch bool
}

// A loop is a node in the tree of loops. The function itself, outside all loops, is nil.
type loop struct{ outer *loop }

// in reports whether l is outer or is nested in it.
func (l *loop) in(outer *loop) bool {
	for ; l != nil; l = l.outer {
		if l == outer {
			return true
		}
	}
	return outer == nil
}

// maxValues limits the size of a function. Because calls are inlined, even a small program can
// produce a large function.
const maxValues = 1_000_000

func newBuilder(l *lowerer, f *ir.Func) *builder {
	b := &builder{l: l, f: f, info: map[*ir.Block]*blockInfo{}, repl: map[*ir.Value]*ir.Value{},
		slots: map[*variable]*ir.Value{}, nonnil: map[*ir.Value]bool{}, vector: map[*ir.Value]bool{}, trusted: map[*ir.Value]bool{},
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

// start makes blk the current block. If blk is sealed and has no predecessors, the code that
// follows is dead.
func (b *builder) start(blk *ir.Block) {
	b.cur = blk
	b.dead = b.info[blk].sealed && len(blk.Preds) == 0 && blk != b.entry
}

// enter seals blk and makes it the current block.
func (b *builder) enter(blk *ir.Block) {
	b.seal(blk)
	b.start(blk)
}

// stop makes a new, unreachable block the current block.
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

// spend counts the instructions of the function and panics if there are too many. A block counts as
// several instructions.
func (b *builder) spend(n int) {
	if b.budget += n; b.budget > maxValues {
		panic(tooLarge{})
	}
}

// tooLarge is the panic value if a function exceeds maxValues.
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

// cmp emits a comparison of integers, pointers or bools.
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

// op emits an operation that is fully described by its operands, or folds it.
func (b *builder) op(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	if r := b.fold(op, t, args); r != nil {
		return r
	}
	return b.emit(op, t, args...)
}

// opAux emits an instruction with the given Aux.
func (b *builder) opAux(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
	v := b.emit(op, t, args...)
	v.Aux = aux
	return v
}

// ptrAdd adds n bytes to an address.
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

// check emits a check unless its condition is known to be true.
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

// asm emits inline PTX.
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

// global returns the address of a module variable.
func (b *builder) global(v *ir.Var) *ir.Value {
	a := b.emit(ir.OpGlobal, ir.PtrTo(v.Space))
	a.Var = v
	b.nonnil[a] = true
	return a
}

// position converts a source position to the forms used in the IR and in errors.
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

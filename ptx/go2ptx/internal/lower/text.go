package lower

import (
	"encoding/binary"
	"go/ast"
	"go/token"
	"go/types"
	"unicode/utf8"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// stringVar returns a variable that contains the bytes of a constant string.
func (l *lowerer) stringVar(s string) *ir.Var {
	v := l.strings[s]
	if v == nil {
		v = &ir.Var{Name: l.unique("string"), Space: ir.Const, Size: len(s), Align: 1, Init: []byte(s)}
		l.strings[s] = v
		l.mod.Vars = append(l.mod.Vars, v)
	}
	return v
}

// constText returns a string that is known at compile time.
func (b *builder) constText(v val) (string, bool) {
	if len(v.leaves) != 2 {
		return "", false
	}
	s, ok := v.leaves[0].(constString)
	n, isValue := v.leaves[1].(*ir.Value)
	if !ok || !isValue {
		return "", false
	}
	n = b.resolve(n)
	if n.Op != ir.OpConst || n.Aux < 0 || n.Aux > int64(len(s)) {
		return "", false
	}
	return string(s)[:n.Aux], true
}

func (f *frame) equalStrings(n ast.Node, x, y val) *ir.Value {
	a, aKnown := f.constText(x)
	b, bKnown := f.constText(y)
	switch {
	case aKnown && bKnown:
		return f.bool(a == b)
	case len(x.leaves) != 2 || len(y.leaves) != 2:
		return f.bool(false)
	}
	xl, yl := f.value(x.leaves[1]), f.value(y.leaves[1])
	p, q := f.value(x.leaves[0]), f.value(y.leaves[0])
	boolean := types.Typ[types.Bool]
	r := f.temp("equal", boolean, n.Pos(), tagPhi, single(boolean, f.cmp(ir.Eq, xl, yl)))
	end := f.newBlock()
	start := f.newBlock()
	f.branch(f.scalar(f.load(f.whole(r))), start, end)
	f.enter(start)
	f.countTo(n, xl, func(i *ir.Value, brk *ir.Block) {
		same := f.cmp(ir.Eq, f.byteAt(p, i), f.byteAt(q, i))
		f.store(f.whole(r), single(boolean, same))
		next := f.newBlock()
		f.branch(same, next, brk)
		f.enter(next)
	})
	f.jump(end)
	f.enter(end)
	return f.scalar(f.load(f.whole(r)))
}

func (f *frame) orderStrings(n ast.Node, op token.Token, x, y val) *ir.Value {
	a, aKnown := f.constText(x)
	b, bKnown := f.constText(y)
	if !aKnown || !bKnown {
		f.errorf(n, "string-order")
		return f.bool(false)
	}
	switch op {
	case token.LSS:
		return f.bool(a < b)
	case token.LEQ:
		return f.bool(a <= b)
	case token.GTR:
		return f.bool(a > b)
	}
	return f.bool(a >= b)
}

func (b *builder) byteAt(p, i *ir.Value) *ir.Value {
	v := b.opAux(ir.OpLoad, ir.TI32, 0, b.ptrAdd(p, i))
	v.Mem = ir.MU8
	return v
}

// countTo emits a loop in which i takes the values 0, 1, ..., n-1.
func (f *frame) countTo(at ast.Node, n *ir.Value, body func(i *ir.Value, brk *ir.Block)) {
	t := types.Typ[types.Int]
	i := f.newVar("i", t, at.Pos(), tagIter)
	f.store(f.whole(i), single(t, f.int(0)))
	head, do, end := f.newBlock(), f.newBlock(), f.newBlock()
	f.jump(head)
	f.start(head)
	at0 := f.scalar(f.load(f.whole(i)))
	f.branch(f.cmp(ir.SLt, at0, n), do, end)
	f.enter(do)
	body(at0, end)
	f.store(f.whole(i), single(t, f.add(at0, f.int(1))))
	f.jump(head)
	f.seal(head)
	f.enter(end)
}

// runeTable returns a variable that contains, for each byte of a string, the rune at that position
// and its width.
func (l *lowerer) runeTable(s string) *ir.Var {
	key := "runes " + s
	if v := l.strings[key]; v != nil {
		return v
	}
	data := make([]byte, 8*len(s))
	for i := range len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		binary.LittleEndian.PutUint32(data[8*i:], uint32(r))
		binary.LittleEndian.PutUint32(data[8*i+4:], uint32(n))
	}
	v := &ir.Var{Name: l.unique("runes"), Space: ir.Const, Size: len(data), Align: 8, Init: data}
	l.strings[key] = v
	l.mod.Vars = append(l.mod.Vars, v)
	return v
}

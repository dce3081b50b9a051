package ir

import (
	"strings"
	"testing"
)

// diamond returns a function that consists of a loop around a diamond-shaped branch, and its
// blocks.
func diamond() (f *Func, blocks []*Block, add, phi *Value) {
	m := &Module{}
	f = m.NewFunc("f")
	f.Params = []Param{{Name: "n", Parts: []Part{{Mem: M32}}}}
	f.Results = []Type{TI32}
	for range 6 {
		blocks = append(blocks, f.NewBlock())
	}
	n := f.NewValue(OpParam, TI32)
	blocks[0].Append(n)
	blocks[0].Jump(blocks[1])
	phi = f.NewValue(OpPhi, TI32)
	blocks[1].Append(phi)
	less := f.NewValue(OpICmp, TBool, phi, n)
	less.Aux = int64(SLt)
	blocks[1].Append(less)
	blocks[1].If(less, blocks[2], blocks[5])
	blocks[2].If(less, blocks[3], blocks[4])
	blocks[3].Jump(blocks[4])
	add = f.NewValue(OpAdd, TI32, phi, f.Const(TI32, 1))
	blocks[4].Append(add)
	blocks[4].Jump(blocks[1])
	phi.Args = []*Value{f.Const(TI32, 0), add}
	blocks[5].Ret(phi)
	return f, blocks, add, phi
}

func TestVerify(t *testing.T) {
	if f, _, _, _ := diamond(); f.Verify() != nil {
		t.Fatal(f.Verify())
	}
	for _, c := range []struct {
		want  string
		spoil func(f *Func, b []*Block, add, phi *Value)
	}{
		{"no terminator", func(f *Func, b []*Block, add, phi *Value) { b[5].Term = Term{} }},
		{"does not list it", func(f *Func, b []*Block, add, phi *Value) { b[3].Term.Succs[0] = b[5] }},
		{"does not lead here", func(f *Func, b []*Block, add, phi *Value) { b[5].Preds = append(b[5].Preds, b[3]) }},
		{"operands for", func(f *Func, b []*Block, add, phi *Value) { phi.Args = phi.Args[:1] }},
		{"operand 1 is i64", func(f *Func, b []*Block, add, phi *Value) { phi.Args[1] = f.Const(TI64, 1) }},
		{"operand 1 is i64", func(f *Func, b []*Block, add, phi *Value) { add.Args[1] = f.Const(TI64, 1) }},
		{"1 operands, not 2", func(f *Func, b []*Block, add, phi *Value) { add.Args = add.Args[:1] }},
		{"does not dominate", func(f *Func, b []*Block, add, phi *Value) { b[5].Term.Results[0] = add }},
		{"before it is defined", func(f *Func, b []*Block, add, phi *Value) { add.Args[0] = add }},
		{"in the function twice", func(f *Func, b []*Block, add, phi *Value) { b[4].Values = append(b[4].Values, add) }},
		{"its Block is", func(f *Func, b []*Block, add, phi *Value) { add.Block = b[3] }},
		{"is in no block", func(f *Func, b []*Block, add, phi *Value) { add.Args[0] = f.NewValue(OpParam, TI32) }},
		{"not in the function", func(f *Func, b []*Block, add, phi *Value) {
			stray := f.NewValue(OpParam, TI32)
			stray.Block = b[0]
			add.Args[0] = stray
		}},
		{"phi after", func(f *Func, b []*Block, add, phi *Value) {
			b[1].Values[0], b[1].Values[1] = b[1].Values[1], b[1].Values[0]
		}},
		{"the condition is i32", func(f *Func, b []*Block, add, phi *Value) { b[2].Term.Cond = phi }},
		{"0 results", func(f *Func, b []*Block, add, phi *Value) { b[5].Term.Results = nil }},
		{"result 0 is", func(f *Func, b []*Block, add, phi *Value) { f.Results[0] = TF32 }},
		{"no part", func(f *Func, b []*Block, add, phi *Value) { f.Params = nil }},
		{"entry has predecessors", func(f *Func, b []*Block, add, phi *Value) { b[5].Jump(b[0]) }},
		{"not an instruction", func(f *Func, b []*Block, add, phi *Value) { add.Op = Invalid }},
		{"to shared", func(f *Func, b []*Block, add, phi *Value) {
			p := f.Const(PtrTo(Global), 0)
			b[4].Append(f.NewValue(OpSpaceCast, PtrTo(Shared), p))
		}},
		{"the result is f32", func(f *Func, b []*Block, add, phi *Value) {
			l := f.NewValue(OpLoad, TF32, f.Const(TPtr, 0))
			l.Mem = M32
			b[4].Append(l)
		}},
		{"no site", func(f *Func, b []*Block, add, phi *Value) {
			b[4].Append(f.NewValue(OpCheck, TNone, f.Const(TBool, 0)))
		}},
	} {
		f, b, add, phi := diamond()
		c.spoil(f, b, add, phi)
		if err := f.Verify(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	f, _, _, _ := diamond()
	const want = `func f(n b32@0) i32 {
b0:
	v0 = param i32 #0
	jump b1
b1: <- b0 b4
	v1 = phi i32 i32:0 v4
	v2 = icmp.slt bool v1 v0
	if v2 then b2 else b5
b2: <- b1
	if v2 then b3 else b4
b3: <- b2
	jump b4
b4: <- b2 b3
	v4 = add i32 v1 i32:1
	jump b1
b5: <- b1
	ret v1
}
`
	if got := f.Module.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestGraph(t *testing.T) {
	f, b, _, _ := diamond()
	dom, post := f.Dominators(), f.Postdominators()
	for i, want := range []int{-1, 0, 1, 2, 2, 1} {
		if d := dom.Idom[i]; (d == nil) != (want < 0) || d != nil && d.ID != want {
			t.Errorf("the dominator of b%d is %v", i, d)
		}
	}
	for i, want := range []int{1, 5, 4, 4, 1, -1} {
		if d := post.Idom[i]; (d == nil) != (want < 0) || d != nil && d.ID != want {
			t.Errorf("the postdominator of b%d is %v", i, d)
		}
	}
	if !dom.Dominates(b[1], b[4]) || dom.Dominates(b[3], b[4]) || !dom.Dominates(b[3], b[3]) {
		t.Error("Dominates")
	}
	loops := f.Loops(dom)
	if len(loops.All) != 1 || loops.All[0].Header != b[1] || len(loops.All[0].Blocks) != 4 || len(loops.Odd) != 0 {
		t.Errorf("loops: %+v", loops.All)
	}
	if !loops.Contains(loops.All[0], b[3]) || loops.Contains(loops.All[0], b[5]) {
		t.Error("Contains")
	}
	// A loop without an exit also has a root in the postdominator tree.
	b[1].Term = Term{}
	b[5].Preds = nil
	b[1].Jump(b[2])
	b[2].Preds = b[2].Preds[1:]
	if post := f.Postdominators(); !post.Has(b[0]) || !post.Dominates(b[4], b[2]) {
		t.Errorf("postdominators of an endless loop: %v", post.Idom)
	}
}

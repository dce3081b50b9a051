package opt

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// numberValues merges equal computations along the dominator tree (global value numbering). It also
// merges loads, unless a store between them may alias.
func numberValues(f *ir.Func) int {
	g := &numberer{f: f, dom: f.Dominators(), to: forward{}, table: map[key]*ir.Value{}, ends: map[*ir.Block]versions{}, consts: map[key]*ir.Value{}}
	if len(g.dom.Order) > 0 {
		g.walk(f.Blocks[0])
	}
	g.to.apply(f)
	return g.n
}

// key identifies a computation. Equal keys mean equal results.
type key struct {
	op             ir.Op
	t              ir.Type
	aux            int64
	a, b, c        int
	rest           string
	mem            ir.Mem
	hint           ir.Hint
	round          ir.Round
	sym            string
	v              *ir.Var
	global, shared int
	local          int
}

// versions numbers the contents of each state space. Each store to a space increments its version.
type versions struct{ global, shared, local int }

type numberer struct {
	f      *ir.Func
	dom    *ir.Tree
	to     forward
	table  map[key]*ir.Value
	added  []key // keys in the table, in order from the root of the dominator tree to the current block
	consts map[key]*ir.Value
	ends   map[*ir.Block]versions
	clock  int
	n      int
}

func (g *numberer) walk(b *ir.Block) {
	added := len(g.added)
	now := versions{}
	if d := g.dom.Idom[b.ID]; d != nil && len(b.Preds) == 1 && b.Preds[0] == d {
		now = g.ends[d]
	} else {
		g.clock++
		now = versions{g.clock, g.clock, g.clock}
	}
	for _, v := range b.Values {
		g.to.operands(v)
		if v.Op != ir.OpPhi {
			for i, a := range v.Args {
				v.Args[i] = g.constant(a)
			}
		}
		g.write(v, &now)
		k, ok := g.key(v, now)
		if !ok {
			continue
		}
		if same := g.table[k]; same != nil {
			if v.Op != ir.OpStore {
				g.to[v] = same
				g.n++
			}
			continue
		}
		r := v
		if v.Op == ir.OpStore {
			r = v.Args[1]
		}
		g.table[k] = r
		g.added = append(g.added, k)
	}
	g.to.term(b)
	g.ends[b] = now
	for _, c := range g.dom.Children[b.ID] {
		g.walk(c)
	}
	for _, k := range g.added[added:] {
		delete(g.table, k)
	}
	g.added = g.added[:added]
}

// constant returns the same value for equal constants.
func (g *numberer) constant(v *ir.Value) *ir.Value {
	if !isConst(v) {
		return v
	}
	k := key{t: v.Type, aux: v.Aux}
	if same := g.consts[k]; same != nil {
		return same
	}
	g.consts[k] = v
	return v
}

// write increments the versions of the spaces that v may write to.
func (g *numberer) write(v *ir.Value, now *versions) {
	e := v.Effects()
	if e&(ir.Writes|ir.Fences) == 0 {
		return
	}
	g.clock++
	space := ir.Generic
	if e&ir.Fences == 0 && (v.Op == ir.OpStore || v.Op == ir.OpStoreV) {
		space = v.Args[0].Type.Space
	}
	if space == ir.Generic || space == ir.Global {
		now.global = g.clock
	}
	if space == ir.Generic || space == ir.Shared {
		now.shared = g.clock
	}
	if space == ir.Generic || space == ir.Local {
		now.local = g.clock
	}
}

// key returns the key of v. The key of a store is that of a load of the stored value.
func (g *numberer) key(v *ir.Value, now versions) (key, bool) {
	k := key{op: v.Op, t: v.Type, aux: v.Aux, mem: v.Mem, hint: v.Hint, round: v.Round, sym: v.Sym, v: v.Var, a: -1, b: -1, c: -1}
	args := v.Args
	switch {
	case v.Op == ir.OpPhi || v.Op == ir.OpUndef:
		return k, false
	case v.Op == ir.OpStore && v.Hint == ir.HintNone && v.Mem.Size() >= 4 && v.Mem != ir.MPtr:
		k.op, k.t, args = ir.OpLoad, v.Mem.Type(), args[:1]
	case v.Effects()&^ir.Reads != 0 || v.Type.Kind == ir.None || v.Op == ir.OpAsm && v.Effect != 0 || v.Type.Kind == ir.Tuple:
		return k, false
	}
	if k.op == ir.OpLoad && v.Hint != ir.HintNC { // that memory does not change
		switch v.Args[0].Type.Space {
		case ir.Global:
			k.global = now.global
		case ir.Shared:
			k.shared = now.shared
		case ir.Local:
			k.local = now.local
		case ir.Generic:
			k.global, k.shared, k.local = now.global, now.shared, now.local
		}
	}
	if len(args) > 3 {
		for _, a := range args {
			k.rest += fmt.Sprint(a.ID, ",")
		}
		return k, true
	}
	ids := []*int{&k.a, &k.b, &k.c}
	for i, a := range args {
		*ids[i] = a.ID
	}
	if v.Op.Commutes() && k.a > k.b {
		k.a, k.b = k.b, k.a
	}
	return k, true
}

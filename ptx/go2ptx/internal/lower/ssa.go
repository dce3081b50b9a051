package lower

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// A leaf is a scalar part of a Go value. It is an *ir.Value or one of the types for values known at
// compile time: place, constString, *closure, *boxed, nilLeaf, mixed and dead.
type leaf any

// place is the address of a variable or of a part of it.
type place struct {
	v   *variable
	off int // index of the first leaf
}

// constString is the data pointer of a constant string.
type constString string

// nilLeaf is a nil function or interface.
type nilLeaf struct{}

// mixed is a function or interface that is not known at compile time.
type mixed struct{}

// dead is a value on a path that is never executed.
type dead struct{}

// variable is a variable of the program or of the compiler. Its leaves are in SSA form unless it
// has a slot in local memory.
type variable struct {
	name string
	typ  types.Type
	lay  *layout
	id   varID
	mem  bool
	loop *loop
	// refused is set if the variable cannot be compiled, which has been reported. It has no leaves.
	refused bool
}

// varID identifies a variable across all attempts to lower a function.
type varID struct {
	site int
	pos  token.Pos
	tag  int
}

type part struct {
	v *variable
	i int
}

// blockInfo is the state of a block during SSA construction. The algorithm is from Braun et al.,
// "Simple and Efficient Construction of Static Single Assignment Form".
type blockInfo struct {
	sealed     bool // all predecessors are known
	defs       map[part]leaf
	incomplete []incomplete
	guesses    []guess
	seen       int // number of the last search by static that visited the block
}

type incomplete struct {
	p   part
	phi *ir.Value
}

// guess is an assumption about a block that is not sealed: that later predecessors will supply the
// same value as the first.
type guess struct {
	p part
	s leaf
}

func (b *builder) write(v *variable, i int, x leaf) { b.info[b.cur].defs[part{v, i}] = x }

func (b *builder) read(v *variable, i int) leaf { return b.readAt(part{v, i}, b.cur) }

func (b *builder) readAt(p part, from *ir.Block) leaf {
	blk := from
	for {
		info := b.info[blk]
		if d, ok := info.defs[p]; ok {
			d = b.resolveLeaf(d)
			b.info[from].defs[p] = d
			return d
		}
		if !info.sealed || len(blk.Preds) != 1 {
			break
		}
		blk = blk.Preds[0]
	}
	d := b.join(p, blk)
	b.info[blk].defs[p] = d
	b.info[from].defs[p] = d
	return d
}

// join returns the value of a variable at the start of a block that has several predecessors or is
// not sealed.
func (b *builder) join(p part, blk *ir.Block) leaf {
	lt, _ := p.v.lay.at(p.i)
	info := b.info[blk]
	if info.sealed && len(blk.Preds) == 0 {
		if lt.mem == ir.MNone {
			return dead{}
		}
		return b.undef(lt.regType())
	}
	if lt.kind != scalar {
		if s, ok := b.static(p, blk); ok {
			return s
		}
		if lt.kind == function || lt.kind == iface {
			return mixed{}
		}
	}
	phi := b.f.NewValue(ir.OpPhi, lt.regType())
	phi.Pos = b.pos
	b.phis = append(b.phis, phi)
	phi.Block = blk
	blk.Values = slices.Insert(blk.Values, 0, phi) // no loop is iterating over blk.Values here
	info.defs[p] = phi
	if !info.sealed {
		info.incomplete = append(info.incomplete, incomplete{p, phi})
		return phi
	}
	b.complete(p, phi)
	return b.resolve(phi)
}

func (b *builder) complete(p part, phi *ir.Value) {
	preds := phi.Block.Preds
	phi.Args = make([]*ir.Value, 0, len(preds))
	for _, pred := range preds {
		phi.Args = append(phi.Args, b.valueAt(b.readAt(p, pred), pred))
	}
	b.trivial(phi)
}

// valueAt converts a leaf to a register value that is available at the end of a block.
func (b *builder) valueAt(x leaf, blk *ir.Block) *ir.Value {
	if v, ok := x.(*ir.Value); ok {
		return b.resolve(v)
	}
	cur := b.cur
	b.cur = blk
	v := b.value(x)
	b.cur = cur
	return v
}

// trivial replaces a phi whose operands are all the same.
func (b *builder) trivial(phi *ir.Value) {
	var only *ir.Value
	for _, a := range phi.Args {
		a = b.resolve(a)
		if a == phi || only != nil && same(a, only) {
			continue
		}
		if only != nil {
			return
		}
		only = a
	}
	if only == nil {
		only = b.undef(phi.Type)
	}
	b.repl[phi] = only
}

func same(x, y *ir.Value) bool {
	return x == y || x.Op == ir.OpConst && y.Op == ir.OpConst && x.Type == y.Type && x.Aux == y.Aux
}

func (b *builder) resolve(v *ir.Value) *ir.Value {
	for {
		r, ok := b.repl[v]
		if !ok {
			return v
		}
		v = r
	}
}

func (b *builder) resolveLeaf(x leaf) leaf {
	if v, ok := x.(*ir.Value); ok {
		return b.resolve(v)
	}
	return x
}

// seal declares that all predecessors of a block are known.
func (b *builder) seal(blk *ir.Block) {
	info := b.info[blk]
	if info.sealed {
		return
	}
	info.sealed = true
	for _, g := range info.guesses {
		b.verify(g, blk)
	}
	for i := 0; i < len(info.incomplete); i++ {
		b.complete(info.incomplete[i].p, info.incomplete[i].phi)
	}
}

// static searches for all definitions that reach the start of a block. If they agree on a value
// that is known at compile time, static returns that value. For blocks that are not sealed, it
// records a guess.
func (b *builder) static(p part, blk *ir.Block) (leaf, bool) {
	if b.l.varying[varLeaf{p.v.id, p.i}] {
		return nil, false
	}
	var found leaf
	var open []*ir.Block
	b.searches++
	b.info[blk].seen = b.searches
	b.work = append(b.work[:0], blk)
	for len(b.work) > 0 {
		x := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		if !b.info[x].sealed {
			open = append(open, x)
		}
		for _, pred := range x.Preds {
			info := b.info[pred]
			d, ok := info.defs[p]
			if !ok {
				if info.seen != b.searches {
					info.seen = b.searches
					b.work = append(b.work, pred)
				}
				continue
			}
			if _, ok := d.(dead); ok {
				continue
			}
			if !isStatic(d) || found != nil && found != d {
				return nil, false
			}
			found = d
		}
	}
	if found == nil {
		return nil, false
	}
	for _, x := range open {
		info := b.info[x]
		info.guesses = append(info.guesses, guess{p, found})
		info.defs[p] = found
	}
	return found, true
}

// isStatic reports whether x is known at compile time.
func isStatic(x leaf) bool {
	switch x.(type) {
	case *ir.Value, mixed:
		return false
	}
	return true
}

func (b *builder) verify(g guess, blk *ir.Block) {
	for _, pred := range blk.Preds {
		if d := b.readAt(g.p, pred); d != g.s {
			if _, ok := d.(dead); ok {
				continue
			}
			b.l.retry(varLeaf{g.p.v.id, g.p.i}, b.l.varying)
			return
		}
	}
}

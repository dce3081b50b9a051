package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Limits of versions: how many values a kernel may have of which there are two versions, how many vectors
// it must access, and the part of the values that the accesses to elements must be.
const (
	mostVersioned  = 1500
	leastVersioned = 3
	versionPart    = 12
)

// versionByAlignment makes a second version of a kernel if many of its vector accesses depend on the alignment of
// parameters. Each of these accesses has the instructions for the vector and those for its elements, of which
// only one part has an effect. With versions, the kernel tests the alignment of all parameters at its
// beginning. The first version then accesses vectors, and the second one, which is cold, accesses
// elements. Parameters are the same for all threads, so all threads execute the same version, and
// barriers may be copied.
func versionByAlignment(f *ir.Func) int {
	if !f.Kernel || len(f.Blocks[0].Preds) > 0 {
		return 0
	}
	v := &versioner{f: f, list: map[*ir.Value]alignment{}}
	if !v.find() {
		return 0
	}
	v.run()
	return len(v.list)
}

// alignment is the condition that a parameter is a multiple of mask+1.
type alignment struct {
	param *ir.Value
	mask  int64
}

type versioner struct {
	f    *ir.Func
	list map[*ir.Value]alignment // the vector accesses
	all  []alignment             // the different conditions
}

// find finds the accesses. It reports whether versions pay.
func (v *versioner) find() bool {
	size, elements := 0, 0
	for _, b := range v.f.Blocks {
		for _, w := range b.Values {
			if w.Op != ir.OpPhi && w.Op != ir.OpExtract {
				size++
			}
			a, ok := ofParam(alignmentOf(w))
			if !ok {
				continue
			}
			v.list[w] = a
			if elements += w.N; !slices.Contains(v.all, a) {
				v.all = append(v.all, a)
			}
		}
	}
	return size <= mostVersioned && len(v.list) >= leastVersioned && elements*versionPart > size
}

// ofParam returns the alignment that a condition requires, if it depends only on a parameter.
func ofParam(c *ir.Value) (a alignment, ok bool) {
	if c == nil || c.Op != ir.OpICmp || ir.Cond(c.Aux) != ir.Eq || !c.Args[1].IsConst(0) {
		return a, false
	}
	low := c.Args[0]
	if low.Op != ir.OpAnd || !isConst(low.Args[1]) {
		return a, false
	}
	p := low.Args[0]
	if p.Op == ir.OpBitcast {
		p = p.Args[0]
	}
	return alignment{p, low.Args[1].Aux}, p.Op == ir.OpParam
}

func (v *versioner) run() {
	first := v.f.Blocks[0]
	entry := v.f.NewBlock()
	v.f.Blocks = slices.Insert(v.f.Blocks[:len(v.f.Blocks)-1], 0, entry)
	for _, b := range v.f.Blocks[1:] {
		b.Values = slices.DeleteFunc(b.Values, func(w *ir.Value) bool {
			if w.Op == ir.OpParam {
				entry.Append(w)
			}
			return w.Op == ir.OpParam
		})
	}
	pos := first.Term.Pos
	b := builder{v.f, entry, pos}
	var cond *ir.Value
	for _, a := range v.all {
		x := a.param
		if x.Type.Kind == ir.Ptr {
			x = b.op(ir.OpBitcast, ir.TI64, 0, x)
		}
		low := b.op(ir.OpAnd, x.Type, 0, x, v.f.Const(x.Type, a.mask))
		c := b.op(ir.OpICmp, ir.TBool, int64(ir.Eq), low, v.f.Const(x.Type, 0))
		if cond != nil {
			c = b.op(ir.OpAnd, ir.TBool, 0, cond, c)
		}
		cond = c
	}
	second := v.copy(v.f.Blocks[1:])
	entry.Term.Pos = pos
	entry.If(cond, first, second)
	for w := range v.list {
		w.Args = w.Args[:len(w.Args)-1]
	}
}

// copy appends copies of the blocks, in which elements are accessed instead of vectors. It returns that of the
// first block.
func (v *versioner) copy(blocks []*ir.Block) *ir.Block {
	twin, values := map[*ir.Block]*ir.Block{}, forward{}
	for _, b := range blocks {
		c := v.f.NewBlock()
		c.Cold, c.Second, c.Unroll = true, true, b.Unroll
		twin[b] = c
		for _, w := range b.Values {
			x := v.f.NewValue(w.Op, w.Type)
			id := x.ID
			*x = *w
			x.ID, x.Args = id, slices.Clone(w.Args)
			values[w] = c.Append(x)
		}
	}
	for _, b := range blocks {
		c := twin[b]
		for _, x := range c.Values {
			values.operands(x)
		}
		c.Term = b.Term
		c.Term.Results = slices.Clone(b.Term.Results)
		c.Term.Succs = slices.Clone(b.Term.Succs)
		values.term(c)
		for i, s := range c.Term.Succs {
			c.Term.Succs[i] = twin[s]
		}
		for _, p := range b.Preds {
			c.Preds = append(c.Preds, twin[p])
		}
	}
	vectors, loads := map[*ir.Value]bool{}, map[*ir.Value][]*ir.Value{}
	for w := range v.list {
		vectors[values[w]] = true
	}
	parts := forward{}
	for _, b := range blocks {
		v.split(twin[b], vectors, loads)
	}
	for _, b := range blocks {
		for _, x := range twin[b].Values {
			if x.Op == ir.OpExtract && vectors[x.Args[0]] {
				parts[x] = loads[x.Args[0]][x.Aux]
			}
		}
	}
	parts.apply(v.f)
	return twin[blocks[0]]
}

// split replaces vector accesses of a block with accesses to their elements.
func (v *versioner) split(b *ir.Block, vectors map[*ir.Value]bool, loads map[*ir.Value][]*ir.Value) {
	var out []*ir.Value
	for _, x := range b.Values {
		if !vectors[x] {
			out = append(out, x)
			continue
		}
		for i := range x.N {
			var e *ir.Value
			if x.Op == ir.OpLoadV {
				e = v.f.NewValue(ir.OpLoad, x.Tuple[i], x.Args[0])
				loads[x] = append(loads[x], e)
			} else {
				e = v.f.NewValue(ir.OpStore, ir.TNone, x.Args[0], x.Args[1+i])
			}
			e.Aux = x.Aux + int64(i*x.Mem.Size())
			e.Mem, e.Hint, e.Pos, e.Block = x.Mem, x.Hint, x.Pos, b
			out = append(out, e)
		}
	}
	b.Values = out
}

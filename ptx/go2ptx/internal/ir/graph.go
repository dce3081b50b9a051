package ir

// ReversePostorder returns the blocks reachable from the entry, each before its successors, except
// along the back edges of loops.
func (f *Func) ReversePostorder() []*Block {
	if len(f.Blocks) == 0 {
		return nil
	}
	order := postorder(f.Blocks[0], make([]bool, f.blocks), func(b *Block) []*Block { return b.Term.Succs })
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

func postorder(from *Block, seen []bool, next func(*Block) []*Block) []*Block {
	type frame struct {
		b *Block
		i int
	}
	var order []*Block
	stack := []frame{{from, 0}}
	seen[from.ID] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if succs := next(top.b); top.i < len(succs) {
			// Visit the successors from last to first, so that the first one comes first once the
			// order is reversed.
			s := succs[len(succs)-1-top.i]
			top.i++
			if !seen[s.ID] {
				seen[s.ID] = true
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		order = append(order, top.b)
		stack = stack[:len(stack)-1]
	}
	return order
}

// Tree is a dominator or postdominator tree. Its slices are indexed by block ID.
type Tree struct {
	Order    []*Block // parents before children
	Idom     []*Block // nil for roots and for blocks outside the tree
	Children [][]*Block
	Depth    []int // -1 for blocks outside the tree

	in, out []int
}

// Dominators returns the dominator tree of the blocks reachable from the entry.
func (f *Func) Dominators() *Tree {
	order := f.ReversePostorder()
	t := newTree(f.blocks, order)
	if len(order) == 0 {
		return t
	}
	t.solve(func(b *Block) []*Block { return b.Preds }, order[:1])
	return t
}

// Postdominators returns the postdominator tree. Its roots are the blocks that end the function or
// the thread. In a loop without an exit, the last block in reverse postorder is also a root.
func (f *Func) Postdominators() *Tree {
	rpo := f.ReversePostorder()
	reached, seen := make([]bool, f.blocks), make([]bool, f.blocks)
	for _, b := range rpo {
		reached[b.ID] = true
	}
	preds := func(b *Block) []*Block {
		var list []*Block
		for _, p := range b.Preds {
			if reached[p.ID] {
				list = append(list, p)
			}
		}
		return list
	}
	var roots, order []*Block
	visit := func(b *Block) {
		if !seen[b.ID] {
			roots = append(roots, b)
			order = append(order, postorder(b, seen, preds)...)
		}
	}
	for i := len(rpo) - 1; i >= 0; i-- {
		if len(rpo[i].Term.Succs) == 0 {
			visit(rpo[i])
		}
	}
	for i := len(rpo) - 1; i >= 0; i-- {
		visit(rpo[i])
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	t := newTree(f.blocks, order)
	t.solve(func(b *Block) []*Block { return b.Term.Succs }, roots)
	return t
}

func newTree(n int, order []*Block) *Tree {
	return &Tree{Order: order, Idom: make([]*Block, n), Children: make([][]*Block, n), Depth: make([]int, n),
		in: make([]int, n), out: make([]int, n)}
}

// solve computes immediate dominators with the algorithm of Cooper, Harvey and Kennedy. A virtual
// root serves as the parent of all roots.
func (t *Tree) solve(preds func(*Block) []*Block, roots []*Block) {
	const none, virtual = -2, -1
	number := make([]int, len(t.Idom))
	for i := range number {
		number[i] = none
		t.Depth[i] = -1
	}
	idom := make([]int, len(t.Order))
	for i, b := range t.Order {
		number[b.ID] = i
		idom[i] = none
	}
	isRoot := make([]bool, len(t.Order))
	for _, r := range roots {
		isRoot[number[r.ID]] = true
		idom[number[r.ID]] = virtual
	}
	meet := func(a, b int) int {
		for a != b {
			for a > b {
				a = idom[a]
			}
			for b > a {
				b = idom[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for i, b := range t.Order {
			if isRoot[i] {
				continue
			}
			d := none
			for _, p := range preds(b) {
				n := number[p.ID]
				if n == none || idom[n] == none {
					continue
				}
				if d == none {
					d = n
				} else {
					d = meet(d, n)
				}
			}
			if d != idom[i] {
				idom[i], changed = d, true
			}
		}
	}
	t.link(idom)
}

func (t *Tree) link(idom []int) {
	var roots []*Block
	for i, b := range t.Order {
		if idom[i] < 0 {
			roots = append(roots, b)
			continue
		}
		parent := t.Order[idom[i]]
		t.Idom[b.ID] = parent
		t.Children[parent.ID] = append(t.Children[parent.ID], b)
	}
	clock := 0
	var walk func(b *Block, depth int)
	walk = func(b *Block, depth int) {
		clock++
		t.in[b.ID], t.Depth[b.ID] = clock, depth
		for _, c := range t.Children[b.ID] {
			walk(c, depth+1)
		}
		clock++
		t.out[b.ID] = clock
	}
	for _, r := range roots {
		walk(r, 0)
	}
}

// Has reports whether b is in the tree.
func (t *Tree) Has(b *Block) bool { return b.ID < len(t.in) && t.in[b.ID] > 0 }

// Dominates reports whether a dominates b, or postdominates it if t is a postdominator tree. A
// block dominates itself.
func (t *Tree) Dominates(a, b *Block) bool {
	return t.Has(a) && t.Has(b) && t.in[a.ID] <= t.in[b.ID] && t.out[b.ID] <= t.out[a.ID]
}

// Loop is a natural loop.
type Loop struct {
	Header  *Block
	Blocks  []*Block // the header is first
	Latches []*Block // sources of the back edges
	Parent  *Loop
	Depth   int // nesting depth; 1 for an outermost loop
}

// Loops are the loops of a function.
type Loops struct {
	All []*Loop  // outer loops before inner ones
	Of  []*Loop  // by block ID: the innermost loop that contains the block, or nil
	Odd []*Block // targets of back edges that do not dominate the source, so their loops are irreducible
}

// Loops returns the natural loops.
func (f *Func) Loops(dom *Tree) *Loops {
	loops := &Loops{Of: make([]*Loop, f.blocks)}
	number := make([]int, f.blocks)
	for i, b := range dom.Order {
		number[b.ID] = i
	}
	for _, h := range dom.Order {
		l := &Loop{Header: h}
		for _, p := range h.Preds {
			switch {
			case !dom.Has(p):
			case dom.Dominates(h, p):
				l.Latches = append(l.Latches, p)
			case number[p.ID] >= number[h.ID]:
				loops.Odd = append(loops.Odd, h)
			}
		}
		if len(l.Latches) == 0 {
			continue
		}
		l.Parent = loops.Of[h.ID]
		l.Depth = 1
		if l.Parent != nil {
			l.Depth = l.Parent.Depth + 1
		}
		l.collect(dom)
		for _, b := range l.Blocks {
			loops.Of[b.ID] = l
		}
		loops.All = append(loops.All, l)
	}
	return loops
}

func (l *Loop) collect(dom *Tree) {
	seen := map[*Block]bool{l.Header: true}
	l.Blocks = []*Block{l.Header}
	work := append([]*Block(nil), l.Latches...)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[b] || !dom.Has(b) {
			continue
		}
		seen[b] = true
		l.Blocks = append(l.Blocks, b)
		work = append(work, b.Preds...)
	}
}

// Contains reports whether b is in l or in a loop inside l.
func (l *Loops) Contains(outer *Loop, b *Block) bool {
	for in := l.Of[b.ID]; in != nil; in = in.Parent {
		if in == outer {
			return true
		}
	}
	return false
}

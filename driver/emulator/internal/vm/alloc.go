package vm

import (
	"math/bits"
	"sort"
)

// Register allocation. PTX has as many registers as its writer likes, each
// written in few places. To keep a warp's columns in the cache, registers
// that are never alive at the same time share a column: liveness by data flow
// over the function's basic blocks, then a linear scan over the intervals.
//
// Liveness is that of a single thread. That is enough for a warp in which
// lanes have diverged: a lane's element of a column is touched by that lane
// only, and each lane for itself runs through the code as a thread does.

// allocator allocates the registers of one function.
type allocator struct {
	l      *lowerer
	base   [numClasses]uint32 // where a class begins in the numbering below
	total  uint32
	blocks []*basicBlock
	ivals  []interval
	column []uint32 // result
	pinned []bool
}

// basicBlock is code[from:to) with its liveness.
type basicBlock struct {
	from, to int
	next     []int
	use, def bitset // read before written here; certainly written
	in, out  bitset
}

// interval is the part of the code in which a register is alive, as the hull
// of all places.
type interval struct {
	id         uint32
	start, end int
}

type bitset []uint64

func (s bitset) set(i uint32)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) has(i uint32) bool { return s[i/64]>>(i%64)&1 != 0 }

// allocate turns virtual registers into columns.
func (l *lowerer) allocate() {
	a := &allocator{l: l}
	for c := range l.vregs {
		a.base[c] = a.total
		a.total += l.vregs[c]
	}
	a.pinned = make([]bool, a.total)
	for _, k := range l.f.consts {
		a.pinned[a.index(k.reg)] = true
	}
	if !l.fn.Entry {
		a.pinned[a.index(l.retPC)] = true
	}
	a.findBlocks()
	a.liveness()
	a.intervals()
	a.scan()
	a.apply()
}

// index is a register's number among those of all classes.
func (a *allocator) index(r reg) uint32 { return a.base[r.class] + r.id }

// findBlocks divides the code into basic blocks.
func (a *allocator) findBlocks() {
	code := a.l.code
	leader := make([]bool, len(code)+1)
	leader[0] = true
	for i, n := range code {
		if n.to != nil {
			leader[n.to.at] = true
		}
		for _, t := range n.table {
			leader[t.at] = true
		}
		if n.endsBlock() {
			leader[i+1] = true
		}
	}
	at := make([]int, len(code)+1) // block that begins at an instruction
	for i := range code {
		if leader[i] {
			at[i] = len(a.blocks)
			a.blocks = append(a.blocks, &basicBlock{from: i})
		}
	}
	at[len(code)] = -1
	for i, b := range a.blocks {
		b.to = len(code)
		if i+1 < len(a.blocks) {
			b.to = a.blocks[i+1].from
		}
		b.next = a.successors(code[b.to-1], b.to, at)
	}
}

// endsBlock reports whether control may go elsewhere than to the next
// instruction.
func (n *lowered) endsBlock() bool {
	switch n.in.ctl {
	case ctlBranch, ctlTable, ctlExit, ctlReturn:
		return true
	}
	return false
}

// successors are the blocks that may follow instruction n, whose successor in
// the text is next.
func (a *allocator) successors(n *lowered, next int, at []int) []int {
	var out []int
	add := func(i int) {
		if i < len(a.l.code) {
			out = append(out, at[i])
		}
	}
	if n.to != nil {
		add(n.to.at)
	}
	for _, t := range n.table {
		add(t.at)
	}
	if !n.endsBlock() || n.in.kind != guardNone {
		add(next)
	}
	return out
}

// liveness computes for each block what is alive at its ends.
func (a *allocator) liveness() {
	words := int(a.total+63) / 64
	for _, b := range a.blocks {
		b.use, b.def = make(bitset, words), make(bitset, words)
		b.in, b.out = make(bitset, words), make(bitset, words)
		for _, n := range a.l.code[b.from:b.to] {
			for _, r := range n.refs {
				if i := a.index(r.reg); !r.def && !b.def.has(i) {
					b.use.set(i)
				}
			}
			for _, r := range n.refs {
				if r.def && n.in.kind == guardNone {
					b.def.set(a.index(r.reg))
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(a.blocks) - 1; i >= 0; i-- {
			changed = a.blocks[i].update(a.blocks) || changed
		}
	}
}

// update recomputes a block's sets and reports whether they grew.
func (b *basicBlock) update(all []*basicBlock) bool {
	changed := false
	for k := range b.out {
		var out uint64
		for _, s := range b.next {
			out |= all[s].in[k]
		}
		in := b.use[k] | out&^b.def[k]
		if in != b.in[k] || out != b.out[k] {
			b.in[k], b.out[k], changed = in, out, true
		}
	}
	return changed
}

// intervals computes where each register is alive. Position 2i is where
// instruction i reads, 2i+1 where it writes.
func (a *allocator) intervals() {
	a.ivals = make([]interval, a.total)
	for i := range a.ivals {
		a.ivals[i] = interval{uint32(i), -1, -1}
	}
	for _, b := range a.blocks {
		a.spanBlock(b)
		for i, n := range a.l.code[b.from:b.to] {
			p := 2 * (b.from + i)
			for _, r := range n.refs {
				switch {
				case !r.def && n.in.x == nil:
					a.extend(a.index(r.reg), p, p)
				case !r.def: // may be read after something was written
					a.extend(a.index(r.reg), p, p+1)
				default:
					a.extend(a.index(r.reg), p+1, p+1)
				}
			}
		}
	}
	for i, pinned := range a.pinned {
		if pinned {
			a.ivals[i].start, a.ivals[i].end = -1, 2*len(a.l.code)+1
		}
	}
}

// spanBlock extends what is alive at a block's ends to them.
func (a *allocator) spanBlock(b *basicBlock) {
	for k := range b.in {
		for in := b.in[k] | b.out[k]; in != 0; in &= in - 1 {
			i := uint32(k*64 + bits.TrailingZeros64(in))
			if b.in.has(i) {
				a.extend(i, 2*b.from, 2*b.from)
			}
			if b.out.has(i) {
				a.extend(i, 2*b.to-1, 2*b.to-1)
			}
		}
	}
}

func (a *allocator) extend(i uint32, from, to int) {
	v := &a.ivals[i]
	if v.end < 0 {
		v.start, v.end = from, to
		return
	}
	v.start, v.end = min(v.start, from), max(v.end, to)
}

// scan gives each interval a column of its class that is free throughout it.
func (a *allocator) scan() {
	a.column = make([]uint32, a.total)
	for c := range a.l.vregs {
		list := append([]interval(nil), a.ivals[a.base[c]:a.base[c]+a.l.vregs[c]]...)
		sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
		a.l.f.banks[c] = a.scanClass(list)
	}
}

// scanClass allocates the intervals of a class, by start, and returns the
// number of columns.
func (a *allocator) scanClass(list []interval) uint32 {
	var active expiry
	var free []uint32
	n := uint32(0)
	for _, v := range list {
		if v.end < 0 {
			continue // never mentioned
		}
		for len(active) > 0 && active[0].end < v.start {
			free = append(free, active.pop())
		}
		c := n
		if len(free) > 0 {
			c = free[len(free)-1]
			free = free[:len(free)-1]
		} else {
			n++
		}
		a.column[v.id] = c
		active.push(v.end, c)
	}
	return n
}

// expiry is a heap of columns in use, by the end of their interval.
type expiry []struct {
	end    int
	column uint32
}

func (h *expiry) push(end int, column uint32) {
	s := append(*h, struct {
		end    int
		column uint32
	}{end, column})
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p].end <= s[i].end {
			break
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
	*h = s
}

func (h *expiry) pop() uint32 {
	s := *h
	c := s[0].column
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= len(s) {
			break
		}
		if k+1 < len(s) && s[k+1].end < s[k].end {
			k++
		}
		if s[i].end <= s[k].end {
			break
		}
		s[i], s[k] = s[k], s[i]
		i = k
	}
	*h = s
	return c
}

// apply writes the columns into the instructions.
func (a *allocator) apply() {
	for _, n := range a.l.code {
		for _, r := range n.refs {
			n.in.set(r.field, a.column[a.index(r.reg)])
		}
	}
	for i := range a.l.f.consts {
		r := &a.l.f.consts[i].reg
		r.id = a.column[a.index(*r)]
	}
	if !a.l.fn.Entry {
		a.l.retPC.id = a.column[a.index(a.l.retPC)]
	}
}

package vm

import (
	"math/bits"
	"slices"
	"sort"
)

// Register allocation. PTX may use any number of registers, and each of them is written in few
// places. To keep a warp's columns in the CPU cache, registers that are never live at the same time
// share a column. Data flow over the function's basic blocks computes liveness. A linear scan over
// the resulting intervals then assigns columns.
//
// Liveness is computed for a single thread. That is sufficient even for a warp whose lanes have
// diverged. Only the lane itself accesses its element in a column, and each lane follows a path
// that a single thread could take.
//
// The data flow is quadratic in the number of blocks and registers, so its work is limited in
// proportion to the length of the code. A function that exceeds the limit gets a coarser liveness
// without blocks: see hulls.

// For each instruction of a function, the data flow may visit exactWork words of bit sets and store
// exactRoom words. Both limits are increased by exactLeast, for the sake of short functions.
// Compiler-generated code stays below these limits up to tens of thousands of instructions.
const (
	exactWork  = 256
	exactRoom  = 128
	exactLeast = 1 << 14
)

type allocator struct {
	l      *lowerer
	base   [numClasses]uint32 // first index of each class in the numbering of all classes
	total  uint32
	blocks []*basicBlock
	dense  []uint32 // index in the bit sets, for each register that is not pinned
	sparse []uint32 // register, for each index in the bit sets
	work   int      // number of bit set words that the data flow may still visit
	ivals  []interval
	column []uint32 // column of each register
	pinned []bool
}

// basicBlock is code[from:to) and its liveness.
type basicBlock struct {
	from, to int
	next     []int
	use, def bitset // registers read before any write in the block; registers always written
	in, out  bitset
}

// interval is the range of code from the first to the last position at which a register is live.
type interval struct {
	id         uint32
	start, end int
}

type bitset []uint64

func (s bitset) set(i uint32)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) has(i uint32) bool { return s[i/64]>>(i%64)&1 != 0 }

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
	a.number()
	a.mentions()
	if a.exact() {
		a.span()
	} else {
		a.hulls()
	}
	a.pin()
	a.scan()
	a.apply()
}

func (a *allocator) index(r reg) uint32 { return a.base[r.class] + r.id }

// number assigns an index in the bit sets to each register that is not pinned.
func (a *allocator) number() {
	a.dense = make([]uint32, a.total)
	for i, pinned := range a.pinned {
		if pinned {
			continue
		}
		a.dense[i] = uint32(len(a.sparse))
		a.sparse = append(a.sparse, uint32(i))
	}
}

func (a *allocator) words() int { return (len(a.sparse) + 63) / 64 }

// spend deducts n words from the data flow's work limit. It returns false if fewer than n were
// left.
func (a *allocator) spend(n int) bool {
	a.work -= n
	return a.work >= 0
}

// exact computes liveness by data flow. It returns false if it would exceed a limit.
func (a *allocator) exact() bool {
	n := len(a.l.code)
	a.work = exactWork*n + exactLeast
	return a.findBlocks() && 4*len(a.blocks)*a.words() <= exactRoom*n+exactLeast && a.liveness()
}

// hulls extends each register that a loop mentions, or that is live in it, to the whole loop. A
// thread that has left the range between a register's first and last mention can return to it only
// by a backward jump that overlaps the range. A register is therefore live at most in its own range
// and in the backward jumps that overlap it.
func (a *allocator) hulls() {
	loops := a.loops()
	for i := range a.ivals {
		v := &a.ivals[i]
		if v.end < 0 {
			continue
		}
		first := sort.Search(len(loops), func(k int) bool { return loops[k].end >= v.start })
		last := sort.Search(len(loops), func(k int) bool { return loops[k].start > v.end }) - 1
		if first <= last {
			v.start, v.end = min(v.start, loops[first].start), max(v.end, loops[last].end)
		}
	}
}

// loops returns the ranges of backward jumps in order, with overlapping ranges merged.
func (a *allocator) loops() []interval {
	lowest := map[*branchTable]int{}
	for _, t := range a.l.tables {
		at := len(a.l.code)
		for _, to := range t.labels {
			at = min(at, to.at)
		}
		lowest[t] = at
	}
	var all []interval
	for i, n := range a.l.code {
		at := len(a.l.code)
		if n.to != nil {
			at = n.to.at
		}
		if n.table != nil {
			at = min(at, lowest[n.table])
		}
		if at <= i {
			all = append(all, interval{start: 2 * at, end: 2*i + 1})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].start < all[j].start })
	var merged []interval
	for _, v := range all {
		if k := len(merged) - 1; k >= 0 && v.start <= merged[k].end {
			merged[k].end = max(merged[k].end, v.end)
			continue
		}
		merged = append(merged, v)
	}
	return merged
}

// findBlocks divides the code into basic blocks. It returns false if the branch tables exceed the
// work limit.
func (a *allocator) findBlocks() bool {
	code := a.l.code
	leader := make([]bool, len(code)+1)
	leader[0] = true
	for i, n := range code {
		if n.to != nil {
			leader[n.to.at] = true
		}
		if n.table != nil && !a.spend(len(n.table.labels)) {
			return false
		}
		if n.endsBlock() {
			leader[i+1] = true
		}
	}
	for _, t := range a.l.tables {
		for _, to := range t.labels {
			leader[to.at] = true
		}
	}
	at := make([]int, len(code)+1) // at[i] is the block that begins at instruction i
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
	return true
}

// endsBlock reports whether n is the last instruction of its basic block.
func (n *lowered) endsBlock() bool {
	switch n.in.ctl {
	case ctlBranch, ctlTable, ctlExit, ctlReturn:
		return true
	}
	return false
}

// successors returns the blocks that may follow n, where next is the index of the instruction after
// n.
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
	if n.table != nil {
		for _, t := range n.table.labels {
			add(t.at)
		}
	}
	if !n.endsBlock() || n.in.kind != guardNone {
		add(next)
	}
	return out
}

// liveness computes which registers are live at the start and end of each block. It returns false
// if it would exceed the work limit.
func (a *allocator) liveness() bool {
	words := a.words()
	for _, b := range a.blocks {
		b.use, b.def = make(bitset, words), make(bitset, words)
		b.in, b.out = make(bitset, words), make(bitset, words)
		for _, n := range a.l.code[b.from:b.to] {
			for _, r := range n.refs {
				if i := a.index(r.reg); !r.def && !a.pinned[i] && !b.def.has(a.dense[i]) {
					b.use.set(a.dense[i])
				}
			}
			for _, r := range n.refs {
				if i := a.index(r.reg); r.def && !a.pinned[i] && n.in.kind == guardNone {
					b.def.set(a.dense[i])
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(a.blocks) - 1; i >= 0; i-- {
			b := a.blocks[i]
			if !a.spend(words * (1 + len(b.next))) {
				return false
			}
			changed = b.update(a.blocks) || changed
		}
	}
	return true
}

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

// mentions sets each register's interval to the range of instructions that name the register.
// Instruction i reads at position 2i and writes at 2i+1.
func (a *allocator) mentions() {
	a.ivals = make([]interval, a.total)
	for i := range a.ivals {
		a.ivals[i] = interval{uint32(i), -1, -1}
	}
	for i, n := range a.l.code {
		p := 2 * i
		for _, r := range n.refs {
			switch {
			case !r.def && n.in.x == nil:
				a.extend(a.index(r.reg), p, p)
			case !r.def: // an instruction may read a register after it has written to another
				a.extend(a.index(r.reg), p, p+1)
			default:
				a.extend(a.index(r.reg), p+1, p+1)
			}
		}
	}
}

// pin makes pinned registers live throughout the code, because they are set before it runs.
func (a *allocator) pin() {
	for i, pinned := range a.pinned {
		if pinned {
			a.ivals[i].start, a.ivals[i].end = -1, 2*len(a.l.code)+1
		}
	}
}

// span extends each interval to the first and the last block boundary at which its register is
// live. It skips the boundaries in between. Otherwise, registers that are live everywhere would
// make the work quadratic.
func (a *allocator) span() {
	seen := make(bitset, a.words())
	for _, b := range a.blocks {
		b.unseen(seen, func(i uint32) {
			at := 2*b.to - 1
			if b.in.has(i) {
				at = 2 * b.from
			}
			a.extend(a.sparse[i], at, at)
		})
	}
	clear(seen)
	for _, b := range slices.Backward(a.blocks) {
		b.unseen(seen, func(i uint32) {
			at := 2 * b.from
			if b.out.has(i) {
				at = 2*b.to - 1
			}
			a.extend(a.sparse[i], at, at)
		})
	}
}

// unseen calls f for each register that is not yet in seen and is live at a boundary of the block.
// It then adds the register to seen.
func (b *basicBlock) unseen(seen bitset, f func(i uint32)) {
	for k := range seen {
		for x := (b.in[k] | b.out[k]) &^ seen[k]; x != 0; x &= x - 1 {
			f(uint32(k*64 + bits.TrailingZeros64(x)))
		}
		seen[k] |= b.in[k] | b.out[k]
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

func (a *allocator) scan() {
	a.column = make([]uint32, a.total)
	for c := range a.l.vregs {
		list := append([]interval(nil), a.ivals[a.base[c]:a.base[c]+a.l.vregs[c]]...)
		sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
		a.l.f.banks[c] = a.scanClass(list)
	}
}

// scanClass assigns columns to the intervals of one class, which must be sorted by start. It
// returns the number of columns used.
func (a *allocator) scanClass(list []interval) uint32 {
	var active expiry
	var free []uint32
	n := uint32(0)
	for _, v := range list {
		if v.end < 0 {
			continue // this register is never mentioned
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

// expiry is a heap of the columns in use, ordered by the end of their intervals.
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

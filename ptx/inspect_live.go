package ptx

// maxWalk limits the work for one body, counted in visits of a block for one register. Only a huge
// body reaches the limit, for example one with tens of thousands of blocks in which most registers
// are live.
const maxWalk = 1 << 25

// liveness computes for each block which registers hold a value that is still needed.
//
// Most registers in compiler output live within one block. For every other register, a
// backward walk from its uses finds the blocks where the register is live. This avoids a
// table of blocks times registers.
type liveness struct {
	*code
	next, before [][]int32
	spans        []span    // for each register, its range in list
	list         []blockOf // block entries of all registers, concatenated
	outside      []regSize // for each block, the size of the multi-block registers that are live at its end
	atEnd        [][]int32 // for each block, the registers it uses that are live at its end
	fresh        [][]int32 // for each block, the registers that no earlier block wrote
	walked       int

	// For each block, 1 + the number of the last register for which the block has the property.
	touched, kills, out, in, reached []int32
}

type span struct{ first, n int32 }

// blockOf describes the effect of a block on one register.
type blockOf struct {
	block   int32
	exposed bool // the block reads the register before it writes it
	kills   bool // the block writes the whole register
	writes  bool
}

// pressure returns the largest numbers of live words and predicates, and the position of the
// largest number of words. It returns false if the body is too complex.
func (c *code) pressure() (words, preds int, at Pos, ok bool) {
	if len(c.instrs) == 0 {
		return 0, 0, Pos{}, true
	}
	l := &liveness{code: c, outside: make([]regSize, len(c.blocks)),
		atEnd: make([][]int32, len(c.blocks)), fresh: make([][]int32, len(c.blocks))}
	l.next, l.before = c.edges()
	l.summarise()
	for _, stamps := range []*[]int32{&l.touched, &l.kills, &l.out, &l.in, &l.reached} {
		*stamps = make([]int32, len(c.blocks))
	}
	for reg := range int32(len(c.sizes)) {
		if l.walk(reg); l.walked > maxWalk {
			return 0, 0, Pos{}, false
		}
	}
	most, at := l.scan()
	return int(most.words), int(most.preds), at, true
}

// summarise records for each register its blocks and their accesses.
func (l *liveness) summarise() {
	type entry struct {
		reg int32
		blockOf
	}
	var all []entry
	place := make([]int32, len(l.sizes)) // 1 + the index of the register's entry for this block
	for b := range int32(len(l.blocks)) {
		start := int32(len(all))
		for i := l.blocks[b].instr; i < l.last(b); i++ {
			for pass := range 2 { // first reads and then writes, because an instruction reads before it writes
				for _, t := range l.touches(i) {
					p := place[t.reg]
					if p <= start {
						all = append(all, entry{t.reg, blockOf{block: b}})
						p = int32(len(all))
						place[t.reg] = p
					}
					e := &all[p-1]
					if pass == 0 {
						e.exposed = e.exposed || t.how&regRead != 0 && !e.kills
					} else if t.how&regWrite != 0 {
						e.writes = true
						e.kills = e.kills || t.how&regPart == 0
					}
				}
			}
		}
	}
	l.spans = make([]span, len(l.sizes))
	for i := range all {
		l.spans[all[i].reg].n++
	}
	sum := int32(0)
	for r := range l.spans {
		l.spans[r].first, sum = sum, sum+l.spans[r].n
		l.spans[r].n = 0
	}
	l.list = make([]blockOf, len(all))
	for _, e := range all {
		s := &l.spans[e.reg]
		l.list[s.first+s.n] = e.blockOf
		s.n++
	}
}

// walk records the blocks at whose end reg is live.
func (l *liveness) walk(reg int32) {
	s := l.spans[reg]
	uses := l.list[s.first : s.first+s.n]
	stamp := reg + 1
	var todo []int32 // blocks at whose start reg is live
	for _, u := range uses {
		l.touched[u.block] = stamp
		if u.kills {
			l.kills[u.block] = stamp
		}
		if u.exposed {
			l.in[u.block] = stamp
			todo = append(todo, u.block)
		}
	}
	if len(todo) == 0 {
		return
	}
	var ends []int32
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range l.before[b] {
			if l.walked++; l.out[p] == stamp {
				continue
			}
			l.out[p] = stamp
			ends = append(ends, p)
			if l.kills[p] != stamp && l.in[p] != stamp {
				l.in[p] = stamp
				todo = append(todo, p)
			}
		}
	}
	maybe := l.in[0] == stamp // reg may be read before it is written
	if maybe {
		l.forward(reg, uses)
	}
	for _, b := range ends {
		if maybe && l.reached[b] != stamp {
			continue
		}
		l.outside[b] = l.outside[b].plus(l.sizes[reg])
		if l.touched[b] == stamp {
			l.atEnd[b] = append(l.atEnd[b], reg)
		}
	}
}

// forward marks the blocks at whose end reg may have been written. Without it, a register
// written and read under the same predicate would appear live from the start of the body.
// A register cannot be live before its first write.
func (l *liveness) forward(reg int32, uses []blockOf) {
	stamp := reg + 1
	var todo []int32
	for _, u := range uses {
		if u.writes {
			l.reached[u.block] = stamp
			todo = append(todo, u.block)
		}
	}
	entered := map[int32]bool{}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, n := range l.next[b] {
			l.walked++
			entered[n] = true
			if l.reached[n] != stamp {
				l.reached[n] = stamp
				todo = append(todo, n)
			}
		}
	}
	for _, u := range uses {
		if u.writes && !entered[u.block] {
			l.fresh[u.block] = append(l.fresh[u.block], reg)
		}
	}
}

// scan walks backwards through each block and finds the largest total size of live
// registers.
func (l *liveness) scan() (most regSize, at Pos) {
	live := make([]int32, len(l.sizes))  // for each register, 1 + the index of the last block in which it was live
	first := make([]int32, len(l.sizes)) // for each register, 1 + the index of the instruction that first writes it
	for b := range int32(len(l.blocks)) {
		l.markFresh(b, first)
		for _, r := range l.atEnd[b] {
			live[r] = b + 1
		}
		now := l.outside[b]
		note := func(s regSize, i int32) {
			if s.words > most.words {
				at = l.instrs[i].at
			}
			most = most.max(s)
		}
		for i := l.last(b) - 1; i >= l.blocks[b].instr; i-- {
			list := l.touches(i)
			peak := now
			for _, t := range list {
				if t.how&regWrite == 0 {
					continue
				}
				if live[t.reg] != b+1 { // an unused result still occupies a register
					peak = peak.plus(l.sizes[t.reg])
				} else if t.how&regPart == 0 || first[t.reg] == i+1 {
					live[t.reg] = 0
					now = now.minus(l.sizes[t.reg])
				}
			}
			note(peak, i)
			for _, t := range list {
				if t.how&regRead != 0 && live[t.reg] != b+1 {
					live[t.reg] = b + 1
					now = now.plus(l.sizes[t.reg])
				}
			}
			note(now, i)
		}
	}
	return most, at
}

// markFresh finds the first write in block b to each register that no earlier block
// wrote. Before such a write, even a predicated one, the register holds no value.
func (l *liveness) markFresh(b int32, first []int32) {
	if len(l.fresh[b]) == 0 {
		return
	}
	for _, r := range l.fresh[b] {
		first[r] = -1
	}
	for i := l.blocks[b].instr; i < l.last(b); i++ {
		for _, t := range l.touches(i) {
			if first[t.reg] == -1 && t.how&regWrite != 0 {
				first[t.reg] = i + 1
			}
		}
	}
}

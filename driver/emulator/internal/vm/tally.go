package vm

import (
	"maps"
	"math/bits"
	"slices"
	"sync"
)

// Counts of instructions by opcode, and of the cost of memory accesses on a device. A launch that
// counts runs a copy of the program in which every instruction is wrapped. Other launches have no
// overhead.

// OpCount is how often an instruction was executed. Lanes whose guard was false are not counted.
type OpCount struct {
	Warps uint64 // times that a warp executed it with at least one lane
	Lanes uint64
}

// Traffic counts the accesses of one kind.
type Traffic struct {
	// Requests counts instructions of warps.
	Requests uint64
	// Bytes counts the bytes that the lanes requested, each lane counted.
	Bytes uint64
	// Transactions counts, for global memory, the sectors of 32 bytes that each request touches.
	// For shared memory, it counts the passes that each request takes because of bank conflicts.
	Transactions uint64
	// Ideal is the minimum number of transactions for the same number of distinct bytes.
	Ideal uint64
	// Coalesced counts the requests with no more transactions than that.
	Coalesced uint64
}

// MemoryTraffic is the traffic of one kind of memory.
type MemoryTraffic struct{ Loads, Stores, Atomics Traffic }

// Counts are the counts of launches with LaunchOptions.Count.
type Counts struct {
	Opcodes        map[string]OpCount // by opcode with its modifiers
	Global, Shared MemoryTraffic
}

// Memory geometry, which has been the same since compute capability 5.0.
const (
	sectorSize = 32
	bankSize   = 4
	numBanks   = 32
)

// tally holds the counts of one CTA while it runs.
type tally struct {
	ops            []OpCount // by pc
	global, shared MemoryTraffic
}

// countedProgram is a program that counts. It is made when it is first needed.
type countedProgram struct {
	once sync.Once
	prog *program
}

// counted returns base with every instruction wrapped.
func (p *countedProgram) counted(base *program) *program {
	p.once.Do(func() {
		q := *base
		q.code = slices.Clone(base.code)
		for i := range q.code {
			q.code[i].count(&base.code[i], int32(i))
		}
		p.prog = &q
	})
	return p.prog
}

// count turns in, the copy of an instruction at pc, into one that counts.
func (in *inst) count(original *inst, pc int32) {
	switch in.ctl {
	case ctlNone, ctlSync, ctlWarpBarrier: // the scheduler executes these by exec too
		exec := in.exec
		in.exec = func(w *warp, in *inst, m uint32) {
			w.tally(in, pc, m)
			exec(w, in, m)
		}
	default:
		x := extra{}
		if in.x != nil {
			x = *in.x
		}
		x.from = original
		in.x, in.ctl = &x, ctlCounted
	}
}

// countControl counts a control instruction and returns the original.
func (w *warp) countControl(in *inst, m uint32) *inst {
	w.cta.tally.op(w.pc, m)
	return in.x.from
}

// tally counts an instruction for the lanes in m.
func (w *warp) tally(in *inst, pc int32, m uint32) {
	t := w.cta.tally
	t.op(pc, m)
	if in.aux&accMemory == 0 {
		return
	}
	a := *w.addresses(in, in.aux&accWide != 0, m)
	t.access(in, &a, m)
	if in.x != nil && in.x.from != nil { // a copy also reads
		from := in.x.from
		for i := range a {
			a[i] = w.r64[in.b][i] + from.imm
		}
		t.access(from, &a, m)
	}
}

func (t *tally) op(pc int32, m uint32) {
	t.ops[pc].Warps++
	t.ops[pc].Lanes += uint64(bits.OnesCount32(m))
}

// access counts an access of the lanes in m.
func (t *tally) access(in *inst, a *col64, m uint32) {
	space := in.aux & spaceMask
	if space == spaceGeneric {
		switch a[first(m)] & windowMask {
		case sharedWindow:
			space = spaceShared
		case localWindow, paramWindow:
			return
		}
	}
	switch space {
	case spaceShared:
		t.shared.of(in).add(banks(a, in.size(), m))
	case spaceGeneric, spaceGlobal:
		t.global.of(in).add(sectors(a, in.size(), m))
	}
}

// of returns the traffic counter for an instruction.
func (m *MemoryTraffic) of(in *inst) *Traffic {
	switch {
	case in.aux&accAtomic != 0:
		return &m.Atomics
	case in.aux&accWrite != 0:
		return &m.Stores
	}
	return &m.Loads
}

// add adds the counts of one request or one launch.
func (t *Traffic) add(n Traffic) {
	t.Requests += n.Requests
	t.Bytes += n.Bytes
	t.Transactions += n.Transactions
	t.Ideal += n.Ideal
	t.Coalesced += n.Coalesced
}

// request returns the traffic of one request.
func request(transactions, ideal, bytes uint64) Traffic {
	r := Traffic{Requests: 1, Bytes: bytes, Transactions: transactions, Ideal: ideal}
	if transactions <= ideal {
		r.Coalesced = 1
	}
	return r
}

// distinct counts the different values of f over the lanes in m.
func distinct(m uint32, f func(lane int) uint64) uint64 {
	var seen col64
	n := 0
	for ; m != 0; m &= m - 1 {
		v := f(first(m))
		if (n == 0 || seen[n-1] != v) && !slices.Contains(seen[:n], v) {
			seen[n] = v
			n++
		}
	}
	return uint64(n)
}

// sectors returns the traffic of an access to global memory. Accesses are aligned, so each lane's
// access lies in one sector.
func sectors(a *col64, size uint64, m uint32) Traffic {
	n := distinct(m, func(i int) uint64 { return a[i] / sectorSize })
	places := distinct(m, func(i int) uint64 { return a[i] })
	return request(n, (places*size+sectorSize-1)/sectorSize, size*uint64(bits.OnesCount32(m)))
}

// banks returns the traffic of an access to shared memory. Lanes with 8 bytes are served by half a
// warp at a time, and those with 16 by a quarter. Lanes that access the same word of a bank are
// served together.
func banks(a *col64, size uint64, m uint32) Traffic {
	group := lanes
	if size > bankSize {
		group = int(lanes * bankSize / min(size, 16))
	}
	var passes, ideal uint64
	for at := 0; at < lanes; at += group {
		part := m & (uint32(1<<group-1) << at)
		if part == 0 {
			continue
		}
		ideal++
		passes += conflicts(a, size, part)
	}
	return request(passes, ideal, size*uint64(bits.OnesCount32(m)))
}

// conflicts returns the largest number of different words that lanes access in one bank.
func conflicts(a *col64, size uint64, m uint32) (most uint64) {
	var words [numBanks][]uint64
	for ; m != 0; m &= m - 1 {
		i := first(m)
		for w := a[i] / bankSize; w <= (a[i]+size-1)/bankSize; w++ {
			b := &words[w%numBanks]
			if !slices.Contains(*b, w) {
				*b = append(*b, w)
				most = max(most, uint64(len(*b)))
			}
		}
	}
	return most
}

// counts returns the tally by opcode.
func (t *tally) counts(p *program) *Counts {
	c := &Counts{Opcodes: make(map[string]OpCount), Global: t.global, Shared: t.shared}
	for pc, n := range t.ops {
		if op := p.lines[pc].op; op != 0 && n.Warps != 0 {
			c.addOp(p.ops[op-1], n)
		}
	}
	return c
}

func (c *Counts) addOp(name string, n OpCount) {
	o := c.Opcodes[name]
	o.Warps += n.Warps
	o.Lanes += n.Lanes
	c.Opcodes[name] = o
}

// Add adds the counts of another launch.
func (c *Counts) Add(o *Counts) {
	if c.Opcodes == nil {
		c.Opcodes = make(map[string]OpCount)
	}
	for name, n := range o.Opcodes {
		c.addOp(name, n)
	}
	c.Global.add(&o.Global)
	c.Shared.add(&o.Shared)
}

// Clone returns a deep copy.
func (c *Counts) Clone() Counts {
	d := *c
	d.Opcodes = maps.Clone(c.Opcodes)
	return d
}

func (m *MemoryTraffic) add(o *MemoryTraffic) {
	m.Loads.add(o.Loads)
	m.Stores.add(o.Stores)
	m.Atomics.add(o.Atomics)
}

// sum adds the tally of a CTA that has ended to the launch's tally.
func (r *launchRun) sum(c *cta) {
	if c.tally == nil {
		return
	}
	r.outMu.Lock()
	defer r.outMu.Unlock()
	if r.tally == nil {
		r.tally = &tally{ops: make([]OpCount, len(c.tally.ops))}
	}
	t := r.tally
	for pc, n := range c.tally.ops {
		t.ops[pc].Warps += n.Warps
		t.ops[pc].Lanes += n.Lanes
	}
	t.global.add(&c.tally.global)
	t.shared.add(&c.tally.shared)
	clear(c.tally.ops)
	c.tally.global, c.tally.shared = MemoryTraffic{}, MemoryTraffic{}
}

// counting returns prog with every instruction wrapped. prog is the kernel's own program or the one
// with the checks.
func (k *Kernel) counting(prog *program) *program {
	if prog == k.prog {
		return k.count[0].counted(prog)
	}
	return k.count[1].counted(prog)
}

// opcode returns the index of an opcode in the program, counted from 1. It returns 0 for no opcode.
func (b *builder) opcode(name string) int32 {
	if name == "" {
		return 0
	}
	i, ok := b.opcodes[name]
	if !ok {
		b.prog.ops = append(b.prog.ops, name)
		i = int32(len(b.prog.ops))
		if b.opcodes == nil {
			b.opcodes = make(map[string]int32)
		}
		b.opcodes[name] = i
	}
	return i
}

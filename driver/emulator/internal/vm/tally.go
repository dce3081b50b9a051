package vm

import (
	"maps"
	"math/bits"
	"slices"
	"sync"
)

// Instruction counts by opcode, and the cost that memory accesses would have on a device. A
// counting launch runs a copy of the program in which every instruction is wrapped. Other launches
// have no overhead.

// OpCount counts how often an instruction was executed. Lanes whose guard is false are not counted.
type OpCount struct {
	Warps uint64 // number of executions by a warp with at least one active lane
	Lanes uint64
}

// Traffic counts memory accesses of one kind.
type Traffic struct {
	// Requests counts the warp instructions that made the accesses.
	Requests uint64
	// Bytes counts the bytes that all lanes request.
	Bytes uint64
	// Transactions counts, for global memory, the 32-byte sectors that each request touches. For
	// shared memory, it counts the passes that each request needs because of bank conflicts.
	Transactions uint64
	// Ideal is the minimum number of transactions for the number of distinct bytes requested.
	Ideal uint64
	// Coalesced counts the requests that need no more than their ideal number of transactions.
	Coalesced uint64
}

// MemoryTraffic is the traffic to one kind of memory.
type MemoryTraffic struct{ Loads, Stores, Atomics Traffic }

// Counts holds the counts from launches with LaunchOptions.Count.
type Counts struct {
	Opcodes        map[string]OpCount // by opcode with modifiers
	Global, Shared MemoryTraffic
}

// Memory geometry, which has been the same since compute capability 5.0.
const (
	sectorSize = 32
	bankSize   = 4
	numBanks   = 32
)

type tally struct {
	ops            []OpCount // by program counter
	global, shared MemoryTraffic
}

// countedProgram is a program with counting instructions. It is compiled on first use.
type countedProgram struct {
	once sync.Once
	prog *program
}

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

// count wraps an instruction so that its executions are counted. original is the same instruction
// in the program without counts, and pc is its index.
func (in *inst) count(original *inst, pc int32) {
	switch in.ctl {
	case ctlNone, ctlSync, ctlWarpBarrier: // the scheduler also executes these through exec
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

// countControl counts a control instruction and returns the original instruction.
func (w *warp) countControl(in *inst, m uint32) *inst {
	w.cta.tally.op(w.pc, m)
	return in.x.from
}

func (w *warp) tally(in *inst, pc int32, m uint32) {
	t := w.cta.tally
	t.op(pc, m)
	if in.aux&accMemory == 0 {
		return
	}
	a := *w.addresses(in, in.aux&accWide != 0, m)
	t.access(in, &a, m)
	if in.x != nil && in.x.from != nil { // a copy also reads its source
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

func (m *MemoryTraffic) of(in *inst) *Traffic {
	switch {
	case in.aux&accAtomic != 0:
		return &m.Atomics
	case in.aux&accWrite != 0:
		return &m.Stores
	}
	return &m.Loads
}

func (t *Traffic) add(n Traffic) {
	t.Requests += n.Requests
	t.Bytes += n.Bytes
	t.Transactions += n.Transactions
	t.Ideal += n.Ideal
	t.Coalesced += n.Coalesced
}

func request(transactions, ideal, bytes uint64) Traffic {
	r := Traffic{Requests: 1, Bytes: bytes, Transactions: transactions, Ideal: ideal}
	if transactions <= ideal {
		r.Coalesced = 1
	}
	return r
}

// distinct returns the number of distinct values that f returns for the lanes in m.
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

// sectors returns the traffic of an access to global memory. Accesses are aligned, so each lane
// accesses exactly one sector.
func sectors(a *col64, size uint64, m uint32) Traffic {
	n := distinct(m, func(i int) uint64 { return a[i] / sectorSize })
	places := distinct(m, func(i int) uint64 { return a[i] })
	return request(n, (places*size+sectorSize-1)/sectorSize, size*uint64(bits.OnesCount32(m)))
}

// banks returns the traffic of an access to shared memory. Each pass serves half a warp if lanes
// access 8 bytes, and a quarter if they access 16 bytes. Lanes that access the same word in a bank
// are served together.
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

// conflicts returns the largest number of distinct words that the lanes in m access in one bank.
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

// sum adds the counts of an ended CTA to the launch's counts.
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

// counting returns prog with every instruction wrapped. prog is either the kernel's own program or
// the one with checks.
func (k *Kernel) counting(prog *program) *program {
	if prog == k.prog {
		return k.count[0].counted(prog)
	}
	return k.count[1].counted(prog)
}

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

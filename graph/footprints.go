package graph

import (
	"maps"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// footprints records the memory accesses of a graph's nodes beyond what the driver returns. For a
// kernel the driver knows the addresses of its arguments, but not the size of the memory. All of it
// is numbers in lists, so recording a node costs a comparison and a store.
//
// Copies of the graph see its lists as they were (snapshot). Appending is safe. Changing existing
// entries requires copying them first.
type footprints struct {
	of    []uint32 // by node: its footprint, counted from 1; 0: not noted here
	list  []footprint
	spans []useSpan

	version uint64 // of the launch that was noted last
	last    uint32 // its footprint

	shared bool        // snapshots see the lists
	plans  []planNodes // nodes of plans
	// Footprints of nodes that the driver created: captured ones and copies. Their nodes are
	// resolved lazily.
	loose    []*footprints
	children map[uint32]*footprints // of graphs that were copied into nodes
	declared map[uint32][]driver.Access
}

// footprint is what a kernel node uses.
type footprint struct {
	version uint64 // Launch.AccessesVersion when it was noted
	kernel  *driver.Kernel
	at      uint32 // in spans
	n, own  uint16 // uses; of a node that was set: the room there, which no other has
}

// useSpan is a driver.Access without what is the same for all of a kernel.
type useSpan struct {
	addr, bytes uint64
	arg         int32
	mode        driver.AccessMode
	host        bool
}

// planNodes are nodes that a plan added, whose footprints are the plan's.
type planNodes struct {
	first, n uint32
	prints   *footprints
}

var footprintPool = sync.Pool{New: func() any { return new(footprints) }}

func newFootprints() *footprints { return footprintPool.Get().(*footprints) }

// recycle keeps the lists for another graph, unless somebody sees them.
func (p *footprints) recycle() {
	if p == nil || p.shared {
		return
	}
	for i, l := range p.loose {
		p.loose[i] = nil
		l.recycle()
	}
	clear(p.list) // kernels
	clear(p.plans)
	*p = footprints{of: p.of[:0], list: p.list[:0], spans: p.spans[:0], plans: p.plans[:0], loose: p.loose[:0]}
	footprintPool.Put(p)
}

// launch notes what node i, the next one, does.
func (p *footprints) launch(i int, l *driver.Launch) {
	if l.AccessesVersion() == p.version && len(p.of) == i {
		p.of = append(p.of, p.last)
		return
	}
	p.launchAnew(i, l)
}

func (p *footprints) launchAnew(i int, l *driver.Launch) {
	p.pad(i)
	if l.AccessesVersion() != p.version {
		p.enter(l)
	}
	p.of = append(p.of, p.last)
}

// op is launch for an operation of any kind.
func (p *footprints) op(i int, op driver.Op) {
	if l, ok := op.(*driver.Launch); ok {
		p.launch(i, l)
	}
}

// repeat notes that the next node does what the latest does.
func (p *footprints) repeat() { p.of = append(p.of, p.last) }

// again notes that the next n nodes do what the latest does.
func (p *footprints) again(n int) {
	if n == 0 {
		return
	}
	at := len(p.of)
	p.of = slices.Grow(p.of, n)[:at+n]
	fresh := p.of[at:]
	fresh[0] = p.last
	for done := 1; done < n; done *= 2 {
		copy(fresh[done:], fresh[:done])
	}
}

// pad enters that nothing was noted of the nodes before i.
func (p *footprints) pad(i int) {
	if n := i - len(p.of); n > 0 {
		p.of = append(p.of, make([]uint32, n)...)
	}
}

// enter makes a footprint of a launch, the last from now on. Fields are stored
// where they belong: to copy a struct that was just put together stalls.
func (p *footprints) enter(l *driver.Launch) {
	uses, at := l.Accesses(), len(p.spans)
	p.version = l.AccessesVersion()
	n := len(p.list)
	p.list = slices.Grow(p.list, 1)[:n+1]
	f := &p.list[n]
	f.version, f.kernel, f.at, f.n, f.own = p.version, l.Kernel(), uint32(at), uint16(len(uses)), 0
	p.last = uint32(n + 1)
	p.spans = slices.Grow(p.spans, len(uses))[:at+len(uses)]
	note(p.spans[at:], uses)
}

// note stores what a launch uses.
func note(to []useSpan, uses []driver.Access) {
	for i := range uses {
		a, s := &uses[i], &to[i]
		s.addr, s.bytes, s.arg, s.mode, s.host = a.Addr, a.Bytes, a.Arg, a.Mode, a.Host
	}
}

// plan notes the next n nodes, which have a plan's footprints.
func (p *footprints) plan(first, n int, prints *footprints) {
	p.plans = append(p.plans, planNodes{uint32(first), uint32(n), prints})
}

// set notes what a node does from now on. One that was set before has a
// footprint of its own, with room for launches of as much memory.
func (p *footprints) set(i uint32, op driver.Op) {
	l, ok := op.(*driver.Launch)
	if !ok {
		return
	}
	if f := p.find(i); f.footprint != nil && f.version == l.AccessesVersion() {
		return
	}
	p.unshare()
	p.pad(int(i) + 1)
	uses := l.Accesses()
	f := p.ownFootprint(i, uint16(len(uses)))
	f.version, f.kernel, f.n = l.AccessesVersion(), l.Kernel(), uint16(len(uses))
	note(p.spans[f.at:], uses)
}

// ownFootprint returns one that only node i has, with room.
func (p *footprints) ownFootprint(i uint32, room uint16) *footprint {
	if at := p.of[i]; at != 0 && p.list[at-1].own >= max(room, 1) {
		return &p.list[at-1]
	}
	room = max(room, 1)
	p.list = append(p.list, footprint{at: uint32(len(p.spans)), own: room})
	p.spans = append(p.spans, make([]useSpan, room)...)
	p.of[i] = uint32(len(p.list))
	return &p.list[len(p.list)-1]
}

// forget is for a node that was destroyed, or that somebody changed.
func (p *footprints) forget(i uint32) {
	if int(i) < len(p.of) && p.of[i] != 0 {
		p.unshare()
		p.of[i] = 0
	}
	if len(p.declared)+len(p.children) > 0 {
		delete(p.declared, i)
		delete(p.children, i)
	}
}

// footprintMark is a point to go back to.
type footprintMark struct{ of, list, spans int }

func (p *footprints) mark() footprintMark {
	return footprintMark{len(p.of), len(p.list), len(p.spans)}
}

func (p *footprints) cut(m footprintMark) {
	p.of, p.list, p.spans, p.version = p.of[:m.of], p.list[:m.list], p.spans[:m.spans], 0
}

// unshare makes sure that nobody else sees the lists.
func (p *footprints) unshare() {
	if p.shared {
		p.of, p.list, p.spans = slices.Clone(p.of), slices.Clone(p.list), slices.Clone(p.spans)
		p.plans, p.loose = slices.Clone(p.plans), slices.Clone(p.loose)
		p.shared = false
	}
}

// snapshot returns the footprints as they are now, for a copy of the graph.
func (p *footprints) snapshot() *footprints {
	p.shared = true
	for _, l := range p.loose {
		if !l.shared { // else others may be reading it; also when p has lists of its own again
			l.shared = true
		}
	}
	s := *p
	s.children, s.declared = maps.Clone(p.children), nil
	return &s
}

// copiedFrom records that nodes are copies of those of another graph. Which copy belongs to which
// node is resolved lazily.
func (p *footprints) copiedFrom(other *footprints) {
	p.loose = append(p.loose, other.snapshot())
}

// adoptChild notes what the graph in node i was copied from.
func (p *footprints) adoptChild(i uint32, child *footprints) {
	if p.children == nil {
		p.children = make(map[uint32]*footprints)
	}
	p.children[i] = child.snapshot()
}

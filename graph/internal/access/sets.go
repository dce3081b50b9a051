// Package access tracks the memory accesses of a graph's kernel nodes, and the conflicts and the
// order between steps.
package access

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// Sets are the memory accesses of a graph's nodes that the driver cannot report. For a kernel, the
// driver returns the addresses among the arguments, but not the sizes of the memory. Each node has
// only an index into a list of sets, so recording a node costs a comparison and a store.
//
// Copies of the graph share its lists (snapshot). Appending to shared lists is safe. Before
// existing entries change, the lists must be copied.
type Sets struct {
	of    []uint32 // for each node, the index of its set in list plus 1; 0 if unknown
	list  []Set
	spans []Span

	version uint64 // AccessesVersion of the latest launch
	last    uint32 // set of the latest launch, counted from 1

	shared bool        // a snapshot shares the lists
	plans  []planNodes // nodes that plans added
	// Sets of nodes that the driver created: captured nodes and copies. Their nodes are resolved
	// lazily.
	Loose    []*Sets
	children map[uint32]*Sets // sets of graphs that were copied into nodes
	declared map[uint32][]driver.Access
}

// Set describes the accesses of one kernel node.
type Set struct {
	version uint64 // launch.Block().Accesses when the set was stored
	Kernel  *driver.Kernel
	at      uint32 // index in spans
	n, own  uint16 // n is the number of spans. own is their capacity if only one node uses the set, otherwise 0.
}

// Span is a driver.Access without the fields that are the same for all accesses of a kernel.
type Span struct {
	addr, bytes uint64
	arg         int32
	mode        driver.AccessMode
	host        bool
}

// planNodes are nodes that a plan added. Their sets belong to the plan.
type planNodes struct {
	first, n uint32
	sets     *Sets
}

var pool = sync.Pool{New: func() any { return new(Sets) }}

func New() *Sets { return pool.Get().(*Sets) }

// OfPlan returns the sets of a plan. The first parameter contains the kind of each item, counted
// from 1. The caller must then enter the kinds in order.
func OfPlan(of []uint32, kinds int) *Sets {
	return &Sets{of: of, list: make([]Set, 0, kinds)}
}

// EnterNone adds a kind with unknown accesses.
func (p *Sets) EnterNone() { p.list = append(p.list, Set{}) }

// Noted returns the number of nodes that have an entry, which may be an unknown set.
func (p *Sets) Noted() int { return len(p.of) }

// DeclaredUses returns the declared accesses of a node.
func (p *Sets) DeclaredUses(i uint32) []driver.Access { return p.declared[i] }

// None is the Sets of a closed graph.
var None = &Sets{shared: true}

// Recycle returns the lists to the pool for another graph, unless a copy shares them.
func (p *Sets) Recycle() {
	if p == nil || p.shared {
		return
	}
	for i, l := range p.Loose {
		p.Loose[i] = nil
		l.Recycle()
	}
	clear(p.list) // drops the references to kernels
	clear(p.plans)
	*p = Sets{of: p.of[:0], list: p.list[:0], spans: p.spans[:0], plans: p.plans[:0], Loose: p.Loose[:0]}
	pool.Put(p)
}

// Launch records the accesses of node i. Nodes before i that have no entry get an unknown set.
func (p *Sets) Launch(i int, l *driver.Launch) {
	if uint64(l.Block().Accesses) == p.version && len(p.of) == i {
		p.of = append(p.of, p.last)
		return
	}
	p.launchAnew(i, l)
}

func (p *Sets) launchAnew(i int, l *driver.Launch) {
	p.pad(i)
	if uint64(l.Block().Accesses) != p.version {
		p.Enter(l)
	}
	p.of = append(p.of, p.last)
}

// Op is like Launch, but accepts any operation and ignores operations other than launches.
func (p *Sets) Op(i int, op driver.Op) {
	if l, ok := op.(*driver.Launch); ok {
		p.Launch(i, l)
	}
}

func (p *Sets) repeat() { p.of = append(p.of, p.last) }

// Again assigns the latest set to the next n nodes.
func (p *Sets) Again(n int) {
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

// pad marks the accesses of the nodes before i as unknown.
func (p *Sets) pad(i int) {
	if n := i - len(p.of); n > 0 {
		p.of = append(p.of, make([]uint32, n)...)
	}
}

// Enter appends the set of a launch, which becomes the latest set. It stores the fields in place,
// because copying a struct that was just filled stalls the processor.
func (p *Sets) Enter(l *driver.Launch) {
	uses, at := l.Uses().Accesses, len(p.spans)
	p.version = uint64(l.Block().Accesses)
	n := len(p.list)
	p.list = slices.Grow(p.list, 1)[:n+1]
	f := &p.list[n]
	f.version, f.Kernel, f.at, f.n, f.own = p.version, l.Kernel(), uint32(at), uint16(len(uses)), 0
	p.last = uint32(n + 1)
	p.spans = slices.Grow(p.spans, len(uses))[:at+len(uses)]
	note(p.spans[at:], uses)
}

func note(to []Span, uses []driver.Access) {
	for i := range uses {
		a, s := &uses[i], &to[i]
		s.addr, s.bytes, s.arg, s.mode, s.host = a.Addr, a.Bytes, a.Arg, a.Mode, a.Host
	}
}

// Plan assigns the sets of a plan to the next n nodes.
func (p *Sets) Plan(first, n int, sets *Sets) {
	p.plans = append(p.plans, planNodes{uint32(first), uint32(n), sets})
}

// Set replaces the accesses of node i with those of a launch, and ignores other operations. A node
// that was set before has a set of its own, which Set reuses if its capacity suffices.
func (p *Sets) Set(i uint32, op driver.Op) {
	l, ok := op.(*driver.Launch)
	if !ok {
		return
	}
	if f := p.Find(i); f.Set != nil && f.version == uint64(l.Block().Accesses) {
		return
	}
	p.unshare()
	p.pad(int(i) + 1)
	uses := l.Uses().Accesses
	f := p.ownSet(i, uint16(len(uses)))
	f.version, f.Kernel, f.n = uint64(l.Block().Accesses), l.Kernel(), uint16(len(uses))
	note(p.spans[f.at:], uses)
}

// ownSet returns a set of node i that no other node uses, with at least the capacity room.
func (p *Sets) ownSet(i uint32, room uint16) *Set {
	if at := p.of[i]; at != 0 && p.list[at-1].own >= max(room, 1) {
		return &p.list[at-1]
	}
	room = max(room, 1)
	p.list = append(p.list, Set{at: uint32(len(p.spans)), own: room})
	p.spans = append(p.spans, make([]Span, room)...)
	p.of[i] = uint32(len(p.list))
	return &p.list[len(p.list)-1]
}

// Forget removes the accesses of a node that was destroyed, or changed in a way that Sets cannot
// follow.
func (p *Sets) Forget(i uint32) {
	if int(i) < len(p.of) && p.of[i] != 0 {
		p.unshare()
		p.of[i] = 0
	}
	if len(p.declared)+len(p.children) > 0 {
		delete(p.declared, i)
		delete(p.children, i)
	}
}

// Mark is a state to which Cut can return.
type Mark struct{ of, list, spans int }

func (p *Sets) Mark() Mark {
	return Mark{len(p.of), len(p.list), len(p.spans)}
}

func (p *Sets) Cut(m Mark) {
	p.of, p.list, p.spans, p.version = p.of[:m.of], p.list[:m.list], p.spans[:m.spans], 0
}

// unshare copies the lists if a copy of the graph shares them.
func (p *Sets) unshare() {
	if p.shared {
		p.of, p.list, p.spans = slices.Clone(p.of), slices.Clone(p.list), slices.Clone(p.spans)
		p.plans, p.Loose = slices.Clone(p.plans), slices.Clone(p.Loose)
		p.shared = false
	}
}

func (p *Sets) snapshot() *Sets {
	p.shared = true
	for _, l := range p.Loose {
		if !l.shared { // write only if needed, because other goroutines may be reading l
			l.shared = true
		}
	}
	s := *p
	s.children, s.declared = maps.Clone(p.children), nil
	return &s
}

// CopiedFrom records that nodes of this graph are copies of another graph's nodes. Their sets are
// matched to nodes lazily.
func (p *Sets) CopiedFrom(other *Sets) {
	p.Loose = append(p.Loose, other.snapshot())
}

// AdoptChild stores the sets of the graph that was copied into node i.
func (p *Sets) AdoptChild(i uint32, child *Sets) {
	if p.children == nil {
		p.children = make(map[uint32]*Sets)
	}
	p.children[i] = child.snapshot()
}

// Declared returns the access that u declares, where u is element i of a list.
func Declared(u driver.Declared, i int) (driver.Access, error) {
	a, err := u.Access()
	if err != nil {
		return a, fmt.Errorf("use %d: %w", i, err)
	}
	a.What, a.Arg = fmt.Sprintf("declared use %d", i), declaredArg
	return a, nil
}

// declaredArg is the Arg of declared accesses, which do not belong to an argument.
const declaredArg = -1

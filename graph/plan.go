package graph

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Plan is a list of nodes that is checked and prepared once. It can be added to any number of
// graphs of its context. It is for programs that build a new graph for every step. [Graph.AddPlan]
// costs about as much as the same calls in C and does not allocate.
//
// AddPlan adds each node with the current parameters of its operation. So you can change arguments
// (SetArg) between calls of AddPlan, but not during a call.
//
// Until it is closed, a Plan keeps alive the objects that its operations refer to. Graphs that it
// was added to, and their Execs, also keep these objects alive. Any goroutine may use a Plan, and
// concurrent uses are serialised.
type Plan struct {
	life *life.Lifetime
	ctx  *driver.Context
	mu   loader.Latch
	keep *keep // references of the operations; the keep is replaced, never changed

	kindOf   []uint32     // for each item, its kind, counted from 1
	accesses *access.Sets // for each item, the accesses of its kind; the Sets is replaced, never changed

	ops     []driver.Op
	after   [][]int // Item.After of each item; nil for a chain
	kinds   []planKind
	batch   *cu.Batch
	steps   []step
	graph   driver.CUgraph // graph handle that the frames contain
	graphs  []*uintptr     // places in the frames that store the graph handle
	roots   []loader.Frame // frames of the items that run after the nodes passed to AddPlan
	depsAt  *cu.CUgraphNode
	depsLen uintptr // dependency count that the frames of the roots contain

	// made and joins never move, because frames contain addresses within them.
	made  []cu.CUgraphNode // the driver writes the new handles here
	joins []cu.CUgraphNode // dependency lists that are not contiguous in made
	moves []move

	deps  []cu.CUgraphNode
	mixed bool // some operations belong to other contexts
}

// planKind is a distinct operation of the plan, and its state when the plan was last refreshed.
type planKind struct {
	op      driver.Op
	item    int // first item with the operation
	launch  *driver.Launch
	version uint32
	uses    uint64 // launch.Block().Accesses
	plain   bool   // a single batched call adds the node
}

// NewPlan creates a plan of items, whose Deps, Name and Uses must be empty. Pass dependencies to
// AddPlan instead, which applies them to items without After.
func NewPlan(c *driver.Context, items []Item) (*Plan, error) {
	ops, after := make([]driver.Op, len(items)), make([][]int, len(items))
	chain := true
	for i := range items {
		it := &items[i]
		if len(it.Deps) > 0 {
			return nil, planError(i, it.Op, invalid("a plan is for any graph and takes no Deps; give nodes to AddPlan"))
		}
		if it.Name != "" || len(it.Uses) > 0 {
			return nil, planError(i, it.Op, invalid("a plan takes no names and no declared uses; use AddBatch, or Node.SetName and Node.Declare"))
		}
		for _, a := range it.After {
			if a < 0 || a >= i {
				return nil, planError(i, it.Op, notBefore(a))
			}
		}
		chain = chain && len(it.After) == min(i, 1) && (i == 0 || it.After[0] == i-1)
		ops[i], after[i] = it.Op, append([]int(nil), it.After...)
	}
	if chain {
		after = nil
	}
	return newPlan(c, ops, after)
}

func newPlan(c *driver.Context, ops []driver.Op, after [][]int) (*Plan, error) {
	l, err := life.New(c.Lifetime(), "graph plan")
	if err != nil {
		return nil, err
	}
	p := &Plan{life: l, ctx: c, keep: &keep{refs: retain.New()}, ops: ops, after: after}
	if err := p.prepare(); err != nil {
		p.keep.refs.Release()
		_ = l.Abandon(err)
		return nil, err
	}
	k := p.keep // refers to keep instead of p, which the closure would keep reachable
	life.Own(p, l, 0, func(*cu.Driver) error {
		k.refs.Release()
		return nil
	})
	return p, nil
}

func (p *Plan) prepare() error {
	known := make(map[driver.Op]bool)
	for i, op := range p.ops {
		if err := refusal.Operation(p.ctx, op); err != nil {
			return planError(i, op, err)
		}
		p.mixed = p.mixed || elsewhere(p.ctx, op)
		if !known[op] {
			known[op] = true
			l, _ := op.(*driver.Launch)
			p.kinds = append(p.kinds, planKind{op: op, item: i, launch: l})
		}
	}
	if err := p.refresh(); err != nil {
		return err
	}
	p.note()
	p.layOut()
	return nil
}

func notBefore(a int) error {
	return invalid("it must run after item %d, which does not come before it", a)
}

func planError(i int, op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot plan item %d: %w", i, err)
	}
	return fmt.Errorf("cannot plan item %d, %v: %w", i, op, err)
}

func (p *Plan) exists() bool { return p != nil && p.life != nil }

// Len returns the number of nodes, or 0 for a nil plan.
func (p *Plan) Len() int {
	if !p.exists() {
		return 0
	}
	return len(p.ops)
}

// Context returns the context of the plan's graphs.
func (p *Plan) Context() *driver.Context {
	if !p.exists() {
		return nil
	}
	return p.ctx
}

// Lifetime returns the plan's ownership record.
func (p *Plan) Lifetime() *life.Lifetime {
	if !p.exists() {
		return nil
	}
	return p.life
}

// String describes the plan.
func (p *Plan) String() string {
	if !p.exists() {
		return absentName(p == nil, &aPlan)
	}
	return fmt.Sprintf("graph plan of %d nodes", len(p.ops))
}

// Close releases the objects that the operations refer to. It does not affect graphs that the plan
// was added to.
func (p *Plan) Close() error {
	if !p.exists() {
		return nil
	}
	p.mu.Lock() // waits for an AddPlan in progress
	defer p.mu.Unlock()
	err := p.life.Close()
	runtime.KeepAlive(p)
	return err
}

// AddPlan adds the nodes of p. Nodes of items without After depend on deps. On failure, the error
// names the item and the graph is unchanged.
//
// Until it is closed, the graph keeps alive the objects that the operations of p now refer to.
// Changing a node later (Node.Set, Exec.Set) does not release them, because they are retained for
// all nodes together.
func (g *Graph) AddPlan(p *Plan, deps ...Node) (Nodes, error) {
	if !p.exists() {
		return Nodes{}, aPlan.Error(p == nil)
	}
	if err := g.lock(); err != nil {
		return Nodes{}, err
	}
	p.mu.Lock()
	n, err := p.addTo(g, deps)
	p.mu.Unlock()
	g.mu.Unlock()
	runtime.KeepAlive(p) // the frames hold addresses within p
	g.alive()
	if err != nil {
		return Nodes{}, fmt.Errorf("cannot add %v to %v: %w", p, g, err)
	}
	return n, nil
}

func (p *Plan) addTo(g *Graph, deps []Node) (Nodes, error) {
	if err := p.life.Check(); err != nil {
		return Nodes{}, err
	}
	if err := sameContext(g.ctx, "the plan", p.ctx); err != nil {
		return Nodes{}, err
	}
	if err := p.current(); err != nil {
		return Nodes{}, err
	}
	if err := p.allowedIn(g); err != nil {
		return Nodes{}, err
	}
	if err := p.setDeps(g, deps); err != nil {
		return Nodes{}, err
	}
	p.setGraph(g.raw)
	for i := range p.steps {
		if at, err := p.do(g, &p.steps[i]); err != nil {
			return Nodes{}, p.undo(g, at, err)
		}
	}
	return p.enter(g), nil
}

// setDeps makes the root items run after deps. The list keeps its address while its capacity
// suffices, so usually no frame changes.
func (p *Plan) setDeps(g *Graph, deps []Node) error {
	p.deps = p.deps[:0]
	for i := range deps {
		if err := g.check(deps[i]); err != nil {
			return err
		}
		p.deps = append(p.deps, deps[i].handle())
	}
	var at *cu.CUgraphNode
	if len(deps) > 0 {
		at = &p.deps[0]
	}
	if at == p.depsAt && len(deps) == int(p.depsLen) {
		return nil
	}
	p.depsAt, p.depsLen = at, uintptr(len(deps))
	for _, f := range p.roots {
		*f.Word(cu.BatchDepsWord) = uintptr(unsafe.Pointer(at))
		*f.Word(cu.BatchCountWord) = p.depsLen
	}
	return nil
}

func (p *Plan) setGraph(raw driver.CUgraph) {
	if p.graph == raw {
		return
	}
	p.graph = raw
	for _, w := range p.graphs {
		*w = uintptr(raw)
	}
}

// do performs one step. On failure it returns the index of the item.
func (p *Plan) do(g *Graph, s *step) (int, error) {
	for _, m := range p.moves[s.moves[0]:s.moves[1]] {
		p.joins[m.to] = p.made[m.made]
	}
	if s.op == nil {
		done, err := p.batch.RunPart(s.first, s.to-s.from)
		return s.from + done, err
	}
	deps, count := s.deps, s.count
	if s.root {
		deps, count = p.depsAt, p.depsLen
	}
	return s.from, g.addRaw(&p.made[s.from], deps, count, s.op)
}

// undo destroys the nodes of the items before item i, whose own node could not be added.
func (p *Plan) undo(g *Graph, i int, err error) error {
	errs := []error{fmt.Errorf("item %d, %v: %w", i, p.ops[i], err)}
	for n := i - 1; n >= 0; n-- {
		errs = append(errs, g.d.CuGraphDestroyNode(p.made[n]))
	}
	return join(errs)
}

func (p *Plan) enter(g *Graph) Nodes {
	if p.mixed {
		g.outermost().mixed = true
	}
	from := len(g.raws)
	g.raws = append(slices.Grow(g.raws, len(p.made)), p.made...)
	if g.index != nil {
		for i, raw := range p.made {
			g.index[raw] = uint32(from + i)
		}
	}
	if g.part { // the outermost graph has no numbers for the nodes of nested graphs
		g.changeRefs().KeepPlan(p.keep.refs)
	} else {
		g.changeRefs().AddPlan(len(p.made), p.keep.refs)
	}
	g.accesses.Plan(from, len(p.made), p.accesses)
	return Nodes{g, uint32(from), uint32(len(p.made))}
}

// Nodes are the nodes that AddPlan added, in the order of the plan's items. It is a small value
// that refers to the graph.
type Nodes struct {
	g        *Graph
	first, n uint32
}

// Len returns the number of nodes, including nodes that were destroyed later.
func (s Nodes) Len() int { return int(s.n) }

// At returns the node of item i. It returns the zero Node if there is no such item, if the node was
// destroyed, or if the graph is closed.
func (s Nodes) At(i int) Node {
	if i < 0 || i >= int(s.n) {
		return Node{}
	}
	s.g.lockLatch()
	defer s.g.mu.Unlock()
	return s.at(uint32(i))
}

// at returns the node of item i. The caller must hold the graph's lock.
func (s Nodes) at(i uint32) Node {
	i += s.first
	if int(i) >= len(s.g.raws) || s.g.raws[i] == 0 {
		return Node{}
	}
	return Node{s.g, i}
}

// current updates the plan if the accesses or references of a launch have changed, or if a retained
// object was closed. It returns an error if an operation now refers to a closed object.
func (p *Plan) current() error {
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.launch != nil && k.uses != uint64(k.launch.Block().Accesses) {
			p.note()
		}
		if k.launch != nil && k.version != k.launch.Block().Version {
			return p.renew()
		}
	}
	own := p.keep.refs
	if !own.Open() {
		return p.renew()
	}
	return nil
}

func (p *Plan) renew() error {
	stale := false
	for i := range p.kinds {
		k := &p.kinds[i]
		stale = stale || k.plain != oneCall(k.op)
	}
	if err := p.refresh(); err != nil {
		return err
	}
	if stale {
		p.layOut()
	}
	return nil
}

// refresh retains the current references of the operations in new References. The old References
// stay unchanged, because graphs share them.
func (p *Plan) refresh() error {
	own := retain.New()
	for i := range p.kinds {
		k := &p.kinds[i]
		if err := own.Retain(k.op.Uses().Refs); err != nil {
			own.Release()
			return planError(k.item, k.op, err)
		}
		own.CommitLoose()
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		k.plain = oneCall(k.op)
		if k.launch != nil {
			k.version = k.launch.Block().Version
		}
	}
	p.keep.refs.Release()
	p.keep.refs = own
	return nil
}

// oneCall reports whether a single batched call can add op.
func oneCall(op driver.Op) bool {
	switch op := op.(type) {
	case *driver.Launch:
		return len(op.Block().Attributes()) == 0
	case *driver.CopyOp:
		return op.Bytes() != 0
	case *driver.FillOp:
		return op.Bytes() != 0
	}
	return false
}

// note records the accesses of the operations in new Sets. The old Sets stay unchanged, because
// graphs share them.
func (p *Plan) note() {
	if p.kindOf == nil {
		p.number()
	}
	f := access.OfPlan(p.kindOf, len(p.kinds))
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.launch == nil {
			f.EnterNone()
			continue
		}
		f.Enter(k.launch)
		k.uses = uint64(k.launch.Block().Accesses)
	}
	p.accesses = f
}

func (p *Plan) number() {
	numbers := make(map[driver.Op]uint32, len(p.kinds))
	for i := range p.kinds {
		numbers[p.kinds[i].op] = uint32(i + 1)
	}
	p.kindOf = make([]uint32, len(p.ops))
	for i, op := range p.ops {
		p.kindOf[i] = numbers[op]
	}
}

package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Plan is a list of nodes that is checked and prepared once, to be added to any number of graphs of
// its context. It is for programs that build a graph anew for every step. [Graph.AddPlan] costs
// about as much as the same calls in C and does not allocate.
//
// AddPlan adds each node with the current parameters of its operation, so you can change arguments
// (SetArg) before the next AddPlan, but not while it runs.
//
// A Plan keeps alive what its operations refer to until it is closed. Graphs that it was added to,
// and their Execs, keep that alive themselves. Any goroutine may use a Plan. Uses take turns.
type Plan struct {
	life *life.Lifetime
	ctx  *driver.Context
	mu   loader.Latch
	keep *keep // what the operations refer to: not changed, only replaced

	kindOf   []uint32     // by item: its kind, counted from 1
	accesses *access.Sets // of the kinds, by item; replaced, not changed

	ops     []driver.Op
	after   [][]int // of Items; nil for a chain
	kinds   []planKind
	batch   *cu.Batch
	steps   []step
	graph   driver.CUgraph // in the frames now
	graphs  []*uintptr     // where the frames have the graph
	roots   []loader.Frame // the frames that run after the nodes given to AddPlan
	depsAt  *cu.CUgraphNode
	depsLen uintptr // as in the roots' frames now

	// Neither of these moves: frames have addresses in them.
	made  []cu.CUgraphNode // where the driver puts the new nodes
	joins []cu.CUgraphNode // dependencies that do not lie side by side in made
	moves []move

	deps  []cu.CUgraphNode
	mixed bool // operations are of other contexts
}

// planKind is an operation of the plan, once however often it is in it, and what
// was known of it when the plan was laid out.
type planKind struct {
	op      driver.Op
	item    int // the first that does it
	launch  *driver.Launch
	version uint32
	uses    uint64 // Launch.AccessesVersion
	plain   bool   // one call adds it
}

// NewPlan creates a plan of items. Their Deps must be empty, because AddPlan takes the dependencies
// of items without After.
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
	k := p.keep // not p, which would never become unreachable
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
	return invalid("it is to run after item %d, which does not come before it", a)
}

func planError(i int, op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot plan item %d: %w", i, err)
	}
	return fmt.Errorf("cannot plan item %d, %v: %w", i, op, err)
}

// exists reports whether p is a plan of this package's making.
func (p *Plan) exists() bool { return p != nil && p.life != nil }

// Len returns the number of nodes, 0 for a nil plan.
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

// Close releases what the operations refer to. It does not affect graphs that the plan was added
// to.
func (p *Plan) Close() error {
	if !p.exists() {
		return nil
	}
	p.mu.Lock() // an AddPlan that is under way ends first
	defer p.mu.Unlock()
	err := p.life.Close()
	runtime.KeepAlive(p)
	return err
}

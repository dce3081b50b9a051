package graph

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// AddPlan adds the nodes of p. Items that run after no other item run after deps. On failure, the
// error names the item and the graph is unchanged.
//
// The graph keeps alive what the operations of p refer to now, until it is closed. Changing a node
// later (Node.Set, Exec.Set) does not release that, because it is kept for all nodes together.
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
	runtime.KeepAlive(p) // its frames have addresses in what it refers to
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

// setDeps has the roots run after deps. The list stays where it is as long as
// it fits, so usually nothing in a frame changes.
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

// setGraph has the frames add to another graph.
func (p *Plan) setGraph(raw driver.CUgraph) {
	if p.graph == raw {
		return
	}
	p.graph = raw
	for _, w := range p.graphs {
		*w = uintptr(raw)
	}
}

// do does one step. On failure it returns the item.
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

// undo removes the nodes before item i, which failed.
func (p *Plan) undo(g *Graph, i int, err error) error {
	errs := []error{fmt.Errorf("item %d, %v: %w", i, p.ops[i], err)}
	for n := i - 1; n >= 0; n-- {
		errs = append(errs, g.d.CuGraphDestroyNode(p.made[n]))
	}
	return join(errs)
}

// enter enters the new nodes in the graph's tables.
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
	if g.part { // the numbers of its nodes mean nothing to the outermost graph
		g.changeRefs().KeepPlan(p.keep.refs)
	} else {
		g.changeRefs().AddPlan(len(p.made), p.keep.refs)
	}
	g.accesses.Plan(from, len(p.made), p.accesses)
	return Nodes{g, uint32(from), uint32(len(p.made))}
}

package modeltest_test

import (
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

func (p *player) instantiate() {
	_, whole := p.anyGraph()
	open := false
	for _, x := range p.execs {
		open = open || x.from == whole && x.copy.conditional()
	}
	x, err := whole.g.Instantiate()
	if whole.conditional() && open {
		p.mustFail(err, driver.ErrNotSupported)
		return
	}
	p.must(err)
	if len(p.execs) >= 5 {
		p.must(x.Close())
		return
	}
	p.did("%v is made of %v", x, whole.g)
	p.execs = append(p.execs, &modelExec{x, whole, whole.snapshot()})
}

func (p *player) anyExec() *modelExec {
	if len(p.execs) == 0 {
		return nil
	}
	return pick(p, p.execs)
}

// common returns a node that exists in an exec and in its graph.
func (p *player) common(x *modelExec) (n, inExec *modelNode) {
	n = p.settable(x.from)
	if n == nil {
		return nil, nil
	}
	return n, x.copy.find(n.id)
}

func (p *player) enable() {
	x := p.anyExec()
	if x == nil {
		return
	}
	n, there := p.common(x)
	if there == nil {
		return
	}
	on := p.r.IntN(2) == 0
	p.did("%v: node %d is switched %v", x.x, n.id, on)
	p.must(x.x.Enable(n.n, on))
	there.off = !on
	if is, err := x.x.Enabled(n.n); err != nil || is != on {
		p.fatal("step %d: enabled %v, %v", p.step, is, err)
	}
}

func (p *player) setExec() {
	x := p.anyExec()
	if x == nil {
		return
	}
	n, there := p.common(x)
	if n == nil {
		return
	}
	o, op := p.realLike(n.op)
	err := x.x.Set(n.n, op)
	if there == nil { // the node was added to the graph later
		if err == nil {
			p.fatal("step %d: a node that the exec does not have was set", p.step)
		}
		return
	}
	p.did("%v: node %d is set", x.x, n.id)
	p.must(err)
	there.op = o
}

func (p *player) setExecBatch() {
	x := p.anyExec()
	if x == nil {
		return
	}
	var changes []graph.Change
	for range 3 {
		n, there := p.common(x)
		if there == nil {
			break
		}
		o, op := p.realLike(there.op)
		changes = append(changes, graph.Change{Node: n.n, Op: op})
		there.op = o
		p.did("%v: node %d is set in a batch", x.x, n.id)
	}
	if len(changes) > 0 {
		p.must(x.x.SetBatch(changes))
	}
}

// follow checks the result of an update and applies it to the model.
func (p *player) follow(x *modelExec, g *modelGraph, r graph.UpdateResult) {
	same := x.copy.sameShape(g)
	if r.Updated() != same {
		p.fatal("step %d: update of %v from %v returns %v, same shape is %v", p.step, x.x, g.g, r, same)
	}
	if same {
		x.copy.adopt(g)
	}
}

func (p *player) source(x *modelExec) *modelGraph {
	if x.from.conditional() || x.copy.conditional() {
		return x.from
	}
	for range 4 {
		if g := pick(p, p.graphs); !g.conditional() {
			return g
		}
	}
	return x.from
}

func (p *player) update() {
	x := p.anyExec()
	if x == nil {
		return
	}
	g := p.source(x)
	if g.g == nil {
		return
	}
	r, err := x.x.Update(g.g)
	p.must(err)
	p.did("%v from %v: %v", x.x, g.g, r)
	p.follow(x, g, r)
}

func (p *player) apply() {
	x := p.anyExec()
	if x == nil {
		return
	}
	g := p.source(x)
	if g.g == nil || g.conditional() {
		return
	}
	a, err := x.x.Update(g.g, graph.WithReinstantiate())
	p.must(err)
	p.did("%v follows %v: %v", x.x, g.g, a)
	p.follow(x, g, a)
	if a.Reinstantiated == a.Updated() {
		p.fatal("step %d: %v", p.step, a)
	}
	if a.Reinstantiated {
		x.from, x.copy = g, g.snapshot()
	}
}

func (p *player) launch() {
	x := p.anyExec()
	if x == nil {
		return
	}
	p.did("%v is launched", x.x)
	p.must(x.x.Launch(p.S))
	x.launch()
	if p.r.IntN(3) > 0 {
		p.compare()
	}
}

func (p *player) compare() {
	p.Helper()
	p.Wait(p.S)
	for i, b := range p.buffers {
		got := make([]uint32, elems)
		p.must(b.b.CopyTo(got))
		for _, v := range got {
			if v != b.value {
				p.fatal("step %d: buffer %d holds %d, want %d", p.step, i, v, b.value)
			}
		}
	}
}

func (p *player) closeExec() {
	if len(p.execs) == 0 || p.r.IntN(2) == 0 {
		return
	}
	i := p.r.IntN(len(p.execs))
	x := p.execs[i]
	p.did("%v is closed", x.x)
	p.must(x.x.Close())
	p.must(x.x.Close())
	p.mustFail(x.x.Launch(p.S), driver.ErrClosed)
	p.execs = append(p.execs[:i:i], p.execs[i+1:]...)
}

// closeGraph closes a graph. Its Execs stay open, but their nodes can no longer be set.
func (p *player) closeGraph() {
	if len(p.graphs) < 2 || p.r.IntN(2) == 0 {
		return
	}
	i := p.r.IntN(len(p.graphs))
	g := p.graphs[i]
	p.did("%v is closed", g.g)
	p.must(g.g.Close())
	_, err := g.g.Len()
	p.mustFail(err, driver.ErrClosed)
	for _, n := range g.all() {
		_, err := n.n.Type()
		p.mustFail(err, driver.ErrClosed)
	}
	p.graphs = append(p.graphs[:i:i], p.graphs[i+1:]...)
	g.g, g.nodes = nil, nil
}

func (p *player) replaceBuffer() {
	i := p.r.IntN(len(p.buffers))
	p.did("buffer %d is closed", i)
	p.must(p.buffers[i].b.Close())
	p.buffers = append(p.buffers[:i:i], p.buffers[i+1:]...)
	p.newBuffer()
}

// mistakes makes calls that must be rejected and change nothing.
func (p *player) mistakes() {
	g, whole := p.anyGraph()
	o := p.randomOp()
	op := p.real(&o)
	var gone graph.Node
	_, err := g.g.Add(op, gone)
	p.mustFail(err, driver.CUDA_ERROR_INVALID_VALUE)
	_, err = g.g.Add(nil)
	p.mustFail(err, driver.CUDA_ERROR_INVALID_VALUE)
	_, err = p.Plus.Prepare(config, p.closed, uint32(elems), uint32(1))
	p.mustFail(err, driver.ErrClosed)
	for _, other := range p.graphs {
		if other == whole || len(other.nodes) == 0 {
			continue
		}
		_, err := g.g.Add(op, other.nodes[0].n)
		p.mustFail(err, driver.CUDA_ERROR_INVALID_VALUE)
		_, err = g.g.AddBatch(nil, []graph.Item{{Op: op}, {Op: op, Deps: []graph.Node{other.nodes[0].n}}})
		p.mustFail(err, driver.CUDA_ERROR_INVALID_VALUE)
	}
	if len(g.nodes) > 0 {
		p.mustFail(graphtest.DependOn(g.nodes[0].n, g.nodes[0].n), driver.CUDA_ERROR_INVALID_VALUE)
	}
	if count, err := g.g.Len(); err != nil || count != len(g.nodes) {
		p.fatal("step %d: %d nodes, %v, want %d", p.step, count, err, len(g.nodes))
	}
}

// walk compares nodes, edges and names with the model.
func (p *player) walk() {
	g, _ := p.anyGraph()
	count := 0
	for e, err := range g.g.Edges() {
		p.must(err)
		count++
		if e.From.IsZero() || e.To.IsZero() {
			p.fatal("step %d: edge %v", p.step, e)
		}
	}
	if want := max(len(g.nodes)-1, 0) + len(g.extra); count != want {
		p.fatal("step %d: %v has %d edges, want %d", p.step, g.g, count, want)
	}
	for _, n := range g.nodes {
		if kind, err := n.n.Type(); err != nil || kind != n.op.kind.node() {
			p.fatal("step %d: node %d is %v, %v, want %v", p.step, n.id, kind, err, n.op.kind.node())
		}
	}
	if checked, err := g.g.Check(); err != nil || !checked.OK() {
		p.fatal("step %d: %v, %v", p.step, checked, err)
	}
}

func (p *player) collect() { runtime.GC() }

func (p *player) closeAll() {
	for _, x := range p.execs {
		p.must(x.x.Close())
	}
	for _, g := range p.graphs {
		p.must(g.g.Close())
	}
	for _, b := range p.buffers {
		p.must(b.b.Close())
	}
}

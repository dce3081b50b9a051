package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// step is a part of a plan that runs as a unit: the calls of one batch, or one operation that
// cannot be batched.
type step struct {
	first    loader.Frame
	from, to int       // range of the items in the step
	moves    [2]int    // range of Plan.moves to make before the step
	op       driver.Op // nil for batched calls

	deps  *cu.CUgraphNode // dependencies of op
	count uintptr
	root  bool // op runs after the nodes passed to AddPlan
}

// move copies a handle from the list made to the list joins, for dependencies that are not contiguous
// in made.
type move struct{ to, made int }

// layOut writes the frames. It runs again when an operation needs a different driver call, or can
// no longer be batched.
func (p *Plan) layOut() {
	room := 0
	for _, after := range p.after {
		room += len(after)
	}
	p.made = make([]cu.CUgraphNode, len(p.ops))
	p.joins = make([]cu.CUgraphNode, 0, room)
	p.batch = p.ctx.Driver().NewBatch()
	p.steps, p.moves, p.graphs, p.roots = nil, nil, nil, nil
	p.graph, p.depsAt, p.depsLen = 0, nil, 0
	for i, op := range p.ops {
		p.put(i, op)
	}
}

func (p *Plan) put(i int, op driver.Op) {
	deps, count, root := p.dependencies(i)
	if !oneCall(op) {
		s := p.begin(i)
		s.op, s.deps, s.count, s.root = op, deps, count, root
		s.to = i + 1
		return
	}
	s := p.open(i)
	f := p.call(&p.made[i], deps, count, op)
	if s.from == i {
		s.first = f
	}
	s.to = i + 1
	p.graphs = append(p.graphs, f.Word(cu.BatchGraphWord))
	if root {
		p.roots = append(p.roots, f)
	}
}

// begin appends a step that starts with item i. All moves that no earlier step makes are assigned
// to the new step.
func (p *Plan) begin(i int) *step {
	done := 0
	if n := len(p.steps); n > 0 {
		done = p.steps[n-1].moves[1]
	}
	p.steps = append(p.steps, step{from: i, to: i, moves: [2]int{done, len(p.moves)}})
	return &p.steps[len(p.steps)-1]
}

// open returns the batched step to which item i is added: the last step if possible, otherwise a
// new one.
func (p *Plan) open(i int) *step {
	if n := len(p.steps); n > 0 {
		s := &p.steps[n-1]
		if s.op == nil && p.before(s) {
			s.moves[1] = len(p.moves)
			return s
		}
	}
	return p.begin(i)
}

// before reports whether the moves that are not assigned to a step yet can run before s. They can
// if none of them copies the handle of a node that s adds.
func (p *Plan) before(s *step) bool {
	for _, m := range p.moves[s.moves[1]:] {
		if m.made >= s.from {
			return false
		}
	}
	return true
}

func (p *Plan) dependencies(i int) (at *cu.CUgraphNode, n uintptr, root bool) {
	if p.after == nil {
		if i == 0 {
			return nil, 0, true
		}
		return &p.made[i-1], 1, false
	}
	after := p.after[i]
	switch {
	case len(after) == 0:
		return nil, 0, true
	case consecutive(after):
		return &p.made[after[0]], uintptr(len(after)), false
	}
	at, n = p.join(after)
	return at, n, false
}

// join reserves a list of handles in p.joins. Moves fill it before the step that contains the
// current item.
func (p *Plan) join(after []int) (*cu.CUgraphNode, uintptr) {
	start := len(p.joins)
	for _, a := range after {
		p.moves = append(p.moves, move{len(p.joins), a})
		p.joins = append(p.joins, 0)
	}
	return &p.joins[start], uintptr(len(after))
}

func (p *Plan) call(node, deps *cu.CUgraphNode, n uintptr, op driver.Op) loader.Frame {
	switch op := op.(type) {
	case *driver.CopyOp:
		return p.batch.GraphAddMemcpyNode(node, 0, deps, n, op.Uses().Node.(*cu.CUDA_MEMCPY3D), op.Context().Raw())
	case *driver.FillOp:
		return p.batch.GraphAddMemsetNode(node, 0, deps, n, op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS), op.Context().Raw())
	}
	return p.batch.GraphAddKernelNode(node, 0, deps, n, &op.(*driver.Launch).Block().Node)
}

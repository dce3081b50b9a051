package graph

import (
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// FixedProfile is a profile of given times, for drawings that are compared.
func FixedProfile(g *Graph, times map[Node]time.Duration) (*Profile, error) {
	pic, err := g.picture()
	p := &Profile{Rounds: 3, Run: 40 * time.Microsecond, Measured: 60 * time.Microsecond,
		Overhead: 1500 * time.Nanosecond, picture: pic, times: make(map[Node]NodeTime)}
	for n, t := range times {
		p.times[n] = NodeTime{n, 2 * t, t}
	}
	return p, err
}

// AddOnce adds an IF node whose handle is value, by raw calls.
func (g *Graph) AddOnce(value uint32, deps ...Node) (Node, *Graph, error) {
	if err := g.lock(); err != nil {
		return Node{}, nil, err
	}
	defer g.mu.Unlock()
	p := driver.CUgraphNodeParams{Type: driver.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	c := p.Conditional()
	c.Type, c.Size, c.Ctx = driver.CU_GRAPH_COND_TYPE_IF, 1, g.ctx.Raw()
	if err := g.d.CuGraphConditionalHandleCreate(&c.Handle, g.raw, g.ctx.Raw(), value, driver.CU_GRAPH_COND_ASSIGN_DEFAULT); err != nil {
		return Node{}, nil, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, nil, err
	}
	var raw driver.CUgraphNode
	if err := g.addGeneric(&raw, from, nil, uintptr(len(deps)), &p); err != nil {
		return Node{}, nil, err
	}
	g.commitNew(g.owners())
	n := g.added(raw)
	return n, n.inside(*(*driver.CUgraph)(unsafe.Pointer(c.PhGraph_out))), nil
}

package graph

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/devicecode"
)

// A conditional node has nested graphs, its bodies. A condition on the device determines which body
// runs. A body is built like any graph, with Add or by a capture (WithTarget). In a body, CUDA
// supports only kernels of the graph's context, copies, fills, empty nodes, child graphs and
// conditional nodes.
//
// A graph with a conditional node cannot be cloned or be a child of another graph.

// AddIf adds a node that runs its body if the condition is not 0 (CUDA 12.3).
func (g *Graph) AddIf(c Cond, deps ...Node) (n Node, body *Graph, err error) {
	n, bodies, err := g.addConditional(form{cu.CU_GRAPH_COND_TYPE_IF, 1}, c, deps)
	if err != nil {
		return Node{}, nil, err
	}
	return n, bodies[0], nil
}

// AddIfElse adds a node that runs the first body if the condition is not 0, otherwise the second
// body (CUDA 12.8).
func (g *Graph) AddIfElse(c Cond, deps ...Node) (n Node, then, otherwise *Graph, err error) {
	n, bodies, err := g.addConditional(formIfElse, c, deps)
	if err != nil {
		return Node{}, nil, nil, err
	}
	return n, bodies[0], bodies[1], nil
}

// AddWhile adds a node that checks the condition before each iteration and runs its body as long as
// the condition is not 0 (CUDA 12.3). The body must change the condition, or the launch never ends.
func (g *Graph) AddWhile(c Cond, deps ...Node) (n Node, body *Graph, err error) {
	n, bodies, err := g.addConditional(form{cu.CU_GRAPH_COND_TYPE_WHILE, 1}, c, deps)
	if err != nil {
		return Node{}, nil, err
	}
	return n, bodies[0], nil
}

// AddSwitch adds a node with n bodies. The node runs the body whose number, counted from 0, equals
// the condition. If there is no such body, it runs none. It needs CUDA 12.8.
func (g *Graph) AddSwitch(c Cond, n int, deps ...Node) (Node, []*Graph, error) {
	if !g.exists() {
		return Node{}, nil, aGraph.Error(g == nil)
	}
	if n <= 0 || n > maxBodies {
		return Node{}, nil, invalid("cannot add a SWITCH node to %v: %d is not a number of bodies", g, n)
	}
	return g.addConditional(form{cu.CU_GRAPH_COND_TYPE_SWITCH, n}, c, deps)
}

const maxBodies = 1<<31 - 1

type form struct {
	kind   cu.CUgraphConditionalNodeType
	bodies int
}

var formIfElse = form{cu.CU_GRAPH_COND_TYPE_IF, 2}

// String returns the name for error messages.
func (f form) String() string {
	switch {
	case f.kind == cu.CU_GRAPH_COND_TYPE_WHILE:
		return "WHILE"
	case f.kind == cu.CU_GRAPH_COND_TYPE_SWITCH:
		return "SWITCH"
	case f.bodies == 2:
		return "IF-ELSE"
	}
	return "IF"
}

// supported rejects forms that are newer than the driver, which would only return
// CUDA_ERROR_INVALID_VALUE. If the driver has no conditional nodes, the error names the missing
// function.
func (f form) supported(d *driver.Driver) error {
	if f.kind == cu.CU_GRAPH_COND_TYPE_SWITCH || f.bodies == 2 {
		return needs(d, f.String()+" nodes", 12080)
	}
	return nil
}

func (g *Graph) addConditional(f form, c Cond, deps []Node) (Node, []*Graph, error) {
	if err := g.lock(); err != nil {
		return Node{}, nil, err
	}
	defer g.mu.Unlock()
	from, err := g.dependencies(deps)
	if err == nil {
		err = f.supported(g.d)
	}
	if err == nil {
		err = c.usable(g)
	}
	if err != nil {
		return Node{}, nil, f.addError(g, err)
	}
	k, err := g.conditional(f, c, from, nil, uintptr(len(deps)))
	if err != nil {
		return Node{}, nil, f.addError(g, err)
	}
	return k.node, append([]*Graph(nil), k.bodies...), nil
}

func (f form) addError(g *Graph, err error) error {
	return fmt.Errorf("cannot add a %v node to %v: %w", f, g, err)
}

// conditional adds the node, and enters it and its bodies in the tables.
func (g *Graph) conditional(f form, c Cond, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, deps uintptr) (*conditional, error) {
	raw, bodies, err := g.addConditionalRaw(f, c, from, data, deps)
	if err != nil {
		return nil, err
	}
	g.commitNew(g.changeRefs())
	return g.added(raw).enterBodies(f, c, bodies), nil
}

func (g *Graph) addConditionalRaw(f form, c Cond, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, deps uintptr) (cu.CUgraphNode, *driver.CUgraph, error) {
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL}
	params := p.Conditional()
	*params = cu.CUDA_CONDITIONAL_NODE_PARAMS{
		Handle: c.raw, Type: f.kind, Size: uint32(f.bodies), Ctx: g.ctx.Raw(),
	}
	var raw cu.CUgraphNode
	if err := g.addGeneric(&raw, from, data, deps, p); err != nil {
		return 0, nil, err
	}
	if params.PhGraph_out == nil {
		err := refuse(driver.CUDA_ERROR_UNKNOWN, "the driver made a node without bodies")
		return 0, nil, join([]error{err, g.d.CuGraphDestroyNode(raw)})
	}
	return raw, params.PhGraph_out, nil
}

func (n Node) enterBodies(f form, c Cond, bodies *driver.CUgraph) *conditional {
	k := &conditional{node: n, cond: c, form: f}
	for _, body := range unsafe.Slice(bodies, f.bodies) {
		k.bodies = append(k.bodies, n.inside(body))
	}
	c.g.enterConditional(k)
	return k
}

// Bodies returns the graphs in a conditional node, in the order of AddIfElse and AddSwitch. The
// node owns them. For a conditional node that this library did not add, it returns
// CUDA_ERROR_NOT_SUPPORTED.
func (n Node) Bodies() ([]*Graph, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	if k := n.g.outermost().conds.of(n); k != nil {
		return append([]*Graph(nil), k.bodies...), nil
	}
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return nil, err
	}
	if t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "bodies of %v of %v: it was not added by this library, and the driver does not return them", n, n.g)
	}
	return nil, invalid("%v of %v has no bodies: it is not a conditional node", n, n.g)
}

// conds are the conditional nodes of an outermost graph and of the graphs nested in it, guarded by
// the graph's lock. A nil conds is empty.
type conds struct {
	byNode map[Node]*conditional
	byCond map[Cond]*conditional
	execs  *execCount
}

type conditional struct {
	node   Node
	cond   Cond
	form   form
	bodies []*Graph
}

func (s *conds) of(n Node) *conditional {
	if s == nil {
		return nil
	}
	return s.byNode[n]
}

func (s *conds) user(c Cond) (Node, bool) {
	if s == nil || s.byCond[c] == nil {
		return Node{}, false
	}
	return s.byCond[c].node, true
}

func (g *Graph) enterConditional(k *conditional) {
	if g.conds == nil {
		g.conds = &conds{make(map[Node]*conditional), make(map[Cond]*conditional), new(execCount)}
	}
	g.conds.byNode[k.node] = k
	g.conds.byCond[k.cond] = k
}

// forgetConditionals removes a destroyed node and the nodes nested in it. Other nodes can then use
// their conditions.
func (s *conds) forgetConditionals(n Node) {
	if s == nil {
		return
	}
	for m, k := range s.byNode {
		if m == n || m.g.within(n) {
			delete(s.byNode, m)
			delete(s.byCond, k.cond)
		}
	}
}

// anyConditional returns a conditional node in g or in its nested graphs, or nil.
func (g *Graph) anyConditional() *conditional {
	s := g.outermost().conds
	if s == nil {
		return nil
	}
	for m, k := range s.byNode {
		if m.g == g || m.g.inGraph(g) {
			return k
		}
	}
	return nil
}

// inGraph reports whether p is nested in a node of g, at any depth.
func (p *Graph) inGraph(g *Graph) bool {
	for ; p.part; p = p.in.g {
		if p.in.g == g {
			return true
		}
	}
	return false
}

// noConditionals returns an error if the graph or a graph nested in it has a conditional node. It
// is for operations that CUDA does not support on such graphs.
func (g *Graph) noConditionals(cannot string) error {
	k := g.anyConditional()
	if k == nil {
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v %s, because %v in it is a %v node", g, cannot, k.node, k.form)
}

// Before CUDA 12.8, a launch hangs when a conditional node runs a body without nodes. Before CUDA
// 12.4, it hangs even if the body has an empty node. So empty bodies get a kernel that does
// nothing.
const emptyBodies = 12080

// fillBodies adds a node to each empty body on drivers before emptyBodies.
func (g *Graph) fillBodies() error {
	if g.conds == nil || g.d.Version() >= emptyBodies {
		return nil
	}
	for _, k := range g.conds.byNode {
		for _, body := range k.bodies {
			if err := body.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Graph) fill() error {
	if n, err := g.count((*driver.Driver).CuGraphGetNodes); err != nil || n > 0 {
		return err
	}
	k, err := devicecode.Cond(g.ctx, "cond_nothing")
	if err != nil {
		return err
	}
	l, err := k.Prepare(devicecode.OneThread)
	if err != nil {
		return err
	}
	_, err = g.add(l, nil)
	return err
}

// execCount counts the executable graphs of a graph with conditional nodes, because CUDA allows
// only one at a time.
type execCount struct{ execs atomic.Int32 }

func (l *execCount) mayHaveOne(g *Graph, k *conditional) error {
	if l == nil || l.execs.Load() == 0 {
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
		"cannot instantiate %v: it already has an executable graph, and because %v in it is a %v node there can be only one at a time; close that one, or build the graph a second time", g, k.node, k.form)
}

// add counts a new executable graph, and remove stops counting a destroyed one. A nil execCount
// counts nothing.
func (l *execCount) add() *execCount {
	if l != nil {
		l.execs.Add(1)
	}
	return l
}

func (l *execCount) remove() {
	if l != nil {
		l.execs.Add(-1)
	}
}

// instantiable returns an error for graphs that the driver would reject without a reason. It also
// fills empty bodies if the driver needs that.
func (g *Graph) instantiable() error {
	if g.part {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"cannot instantiate %v: it is in %v of %v; instantiate the graph around it", g, g.in, g.in.g)
	}
	k := g.anyConditional()
	if k == nil {
		return nil
	}
	if err := g.conds.execs.mayHaveOne(g, k); err != nil {
		return err
	}
	return g.fillBodies()
}

// countExec counts an Exec of g. It returns nil if g may have several Execs.
func (g *Graph) countExec() *execCount {
	if g.anyConditional() == nil {
		return nil
	}
	return g.conds.execs.add()
}

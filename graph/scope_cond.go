package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// NewCond creates a condition for a conditional node of the captured graph or of a body nested in
// it (CUDA 12.3).
func (sc *Scope) NewCond(opts ...CondOption) (Cond, error) {
	g, err := sc.homeGraph()
	if err != nil {
		return Cond{}, err
	}
	return g.NewCond(opts...)
}

// homeGraph returns the graph to which conditions belong. While a body is recorded, that is the
// outermost graph that will contain the body.
func (sc *Scope) homeGraph() (*Graph, error) {
	if sc.exists() && sc.r.home != nil {
		return sc.r.home, nil
	}
	g, err := sc.Graph()
	if err != nil {
		return nil, err
	}
	return g.outermost(), nil
}

// If records a node that runs a body if the condition is not 0 when the node runs (CUDA 12.3). If
// calls body once, with a Scope that captures a separate stream. body may itself use If, While and
// so on. If body returns an error, panics or ends its goroutine, or if its capture fails, the node
// is not recorded.
//
// CUDA allows kernels, copies and fills in a body, but no host functions, events or allocations. A
// nil body does nothing.
//
// Nodes obtained from the body's Scope or Scope.Graph during the recording become nodes of the body
// and keep their names.
func (sc *Scope) If(c Cond, body func(*Scope) error) error {
	return sc.conditional(cu.CU_GRAPH_COND_TYPE_IF, c, body)
}

// IfElse records a node that runs the first body if the condition is not 0, otherwise the second
// body (CUDA 12.8). See If.
func (sc *Scope) IfElse(c Cond, then, otherwise func(*Scope) error) error {
	return sc.conditional(cu.CU_GRAPH_COND_TYPE_IF, c, then, otherwise)
}

// While records a node that runs its body as long as the condition is not 0 (CUDA 12.3). See If.
// The body must set the condition. Unless the condition has a default, also set it before the node.
func (sc *Scope) While(c Cond, body func(*Scope) error) error {
	return sc.conditional(cu.CU_GRAPH_COND_TYPE_WHILE, c, body)
}

// Switch records a node that runs the body whose index equals the condition (CUDA 12.8). See If.
func (sc *Scope) Switch(c Cond, bodies ...func(*Scope) error) error {
	return sc.conditional(cu.CU_GRAPH_COND_TYPE_SWITCH, c, bodies...)
}

func (sc *Scope) conditional(kind cu.CUgraphConditionalNodeType, c Cond, records ...func(*Scope) error) error {
	if !sc.exists() {
		return aScope.Error(sc == nil)
	}
	f := form{kind, len(records)}
	if err := sc.recordConditional(f, c, records); err != nil {
		return fmt.Errorf("cannot record a %v node in the capture of %v: %w", f, sc.s, err)
	}
	return nil
}

func (sc *Scope) recordConditional(f form, c Cond, records []func(*Scope) error) error {
	if f.bodies == 0 {
		return invalid("it has no body")
	}
	home, err := sc.homeGraph()
	if err != nil {
		return err
	}
	if err := home.mayHave(f, c); err != nil {
		return err
	}
	bodies, err := sc.captureBodies(home, records)
	if err != nil {
		return err
	}
	if sc.r.home != nil {
		return sc.plan(planned{form: f, cond: c, bodies: bodies})
	}
	return join([]error{sc.place(f, c, bodies), closeBodies(bodies)})
}

// mayHave returns an error if the graph cannot have a node of form f with condition c. It runs
// before the bodies are recorded.
func (g *Graph) mayHave(f form, c Cond) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := f.supported(g.d); err != nil {
		return err
	}
	return c.usable(g)
}

// captureBodies captures the bodies on a separate stream, because the scope's stream is already
// capturing.
func (sc *Scope) captureBodies(home *Graph, records []func(*Scope) error) (bodies []*body, err error) {
	s, done, err := helperStream(sc.s.Context())
	if err != nil {
		return nil, err
	}
	whole := false
	defer func() { // runs even if a body panics or calls runtime.Goexit
		if err = join([]error{err, done()}); err != nil || !whole {
			err = join([]error{err, closeBodies(bodies)})
			bodies = nil
		}
	}()
	for i, record := range records {
		b, err := captureBody(home, s, sc.r.mode, record)
		if err != nil {
			return bodies, fmt.Errorf("body %d: %w", i, err)
		}
		bodies = append(bodies, b)
	}
	whole = true
	return bodies, nil
}

// helperStream creates a stream in a way that captures allow.
func helperStream(c *driver.Context) (s *driver.Stream, done func() error, err error) {
	var raw driver.CUstream
	if err := c.Guarded().CuStreamCreate(&raw, uint32(cu.CU_STREAM_NON_BLOCKING)); err != nil {
		return nil, nil, err
	}
	done = func() error { return c.Guarded().CuStreamDestroy(raw) }
	s, err = c.BorrowStream(raw)
	if err != nil {
		return nil, nil, join([]error{err, done()})
	}
	return s, done, nil
}

// plan records an empty node, which is replaced with a conditional node when the body that contains
// it is complete.
func (sc *Scope) plan(p planned) error {
	n, err := sc.addEmpty()
	if err != nil {
		return join([]error{err, closeBodies(p.bodies)})
	}
	p.at = n.handle()
	sc.r.mu.Lock()
	sc.r.planned = append(sc.r.planned, p)
	sc.r.mu.Unlock()
	return nil
}

// place adds the node to the graph being captured and fills its bodies.
func (sc *Scope) place(f form, c Cond, bodies []*body) error {
	_, err := sc.addPending(func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
		if err := c.usable(g); err != nil {
			return Node{}, err
		}
		k, err := g.conditional(f, c, from, data, n)
		if err != nil {
			return Node{}, err
		}
		return k.node, sc.r.doom(k.fill(bodies))
	})
	return err
}

type adder func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error)

// addPending adds a node after the current dependencies of the scope, and makes the scope's next
// operation depend on it.
func (sc *Scope) addPending(add adder) (Node, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return Node{}, err
	}
	defer r.mu.Unlock()
	g, err := r.graph()
	if err != nil {
		return Node{}, err
	}
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	defer g.mu.Unlock()
	i, err := r.info(sc.s)
	if err != nil {
		return Node{}, err
	}
	if err := i.active(r); err != nil {
		return Node{}, err
	}
	nodes, data, err := g.rawEdges(i.edges(g))
	if err != nil {
		return Node{}, err
	}
	n, err := add(g, first(nodes), first(data), uintptr(len(nodes)))
	if err != nil {
		return Node{}, err
	}
	sc.b.open = true
	return n, r.doom(sc.update(g, []Edge{{From: n}}))
}

// doom makes the capture fail for a reason that the driver does not detect. The reason is an
// incomplete node, which CUDA cannot destroy during the capture.
func (r *recording) doom(err error) error {
	if err != nil && r.doomed == nil {
		r.doomed = err
	}
	return err
}

func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

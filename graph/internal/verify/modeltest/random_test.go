package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
)

// RandomTime and RandomSeed name environment variables: how long the random test tries further
// seeds, and the first seed.
const (
	RandomTime = "PURECUDA_GRAPH_RANDOM_TIME"
	RandomSeed = "PURECUDA_GRAPH_RANDOM_SEED"
)

// Random calls must leave the values that the model predicts in memory, return the predicted
// errors, and leave no object open.
func TestRandomCallsDoWhatTheModelSays(t *testing.T) {
	seeds, seed := 6, uint64(1)
	if s, err := strconv.ParseUint(os.Getenv(RandomSeed), 10, 64); err == nil {
		seed = s
	}
	span, err := time.ParseDuration(os.Getenv(RandomTime))
	if err != nil {
		span = 0
	}
	for end := time.Now().Add(span); seeds > 0 || time.Now().Before(end); seeds-- {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomCalls(t, seed, 250) }) {
			return
		}
		seed++
	}
}

func randomCalls(t *testing.T, seed uint64, steps int) {
	e := emulator.New(emulator.Config{})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	runtime.GC()
	warm(k)
	books := graphtest.NewLedger(k.Kit, e)
	p := &player{kit: k, r: rand.New(rand.NewPCG(seed, 2)), closed: k.MemoryOf(0)}
	k.OK(p.closed.Close())
	for range 4 {
		p.newBuffer()
	}
	for p.step = range steps {
		p.play()
	}
	p.compare()
	p.closeAll()
	inflight.Waiting.Wait()
	books.Open["memory from cuMemAlloc"] = 0
	if more := books.More(func(string) bool { return false }); more != "" {
		t.Errorf("left behind: %s", more)
	}
}

// warm makes the library create the objects that it creates once and keeps: the kernels, including
// those that set conditions, and the event of a cancellable wait.
func warm(k *kit) {
	release := k.Blocked()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := k.S.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		k.Fatalf("a wait for blocked work: %v", err)
	}
	release()
	k.Wait(k.S)
	g, err := graph.New(k.C)
	k.OK(err)
	c := k.Cond(g, graph.WithDefault(0))
	k.Add(g, k.Op(c.Set(0)))
	k.AddIf(g, c)
	x, err := g.Instantiate()
	k.OK(err)
	k.Run(x)
	k.OK(x.Close())
	k.OK(g.Close())
}

type player struct {
	*kit
	r       *rand.Rand
	step    int
	ids     int
	log     []string
	buffers []*modelBuffer
	graphs  []*modelGraph
	execs   []*modelExec
	closed  *driver.Buffer[uint32]
}

func (p *player) did(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf("%d: ", p.step)+fmt.Sprintf(format, args...))
}

func (p *player) fatal(format string, args ...any) {
	p.Helper()
	for _, l := range p.log[max(0, len(p.log)-60):] {
		p.Log(l)
	}
	p.Fatalf(format, args...)
}

func (p *player) must(err error) {
	p.Helper()
	if err != nil {
		p.fatal("step %d: %v", p.step, err)
	}
}

func (p *player) mustFail(err error, want ...error) {
	p.Helper()
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	p.fatal("step %d: got %v, want one of %v", p.step, err, want)
}

func (p *player) newBuffer() {
	v := p.r.Uint32N(100)
	p.buffers = append(p.buffers, &modelBuffer{p.MemoryOf(v), v})
}

func pick[T any](p *player, list []T) T { return list[p.r.IntN(len(list))] }

// play makes one random call, or several that belong together.
func (p *player) play() {
	actions := []func(){
		p.newGraph, p.addNodes, p.addNodes, p.addNodes, p.addBatch, p.addEdge, p.removeEdge, p.destroy,
		p.set, p.set, p.addChild, p.clone, p.addIf, p.addWhile, p.capture, p.captureInto, p.failedCapture,
		p.instantiate, p.instantiate, p.enable, p.setExec, p.setExec, p.setExecBatch, p.update, p.apply,
		p.launch, p.launch, p.launch, p.closeExec, p.closeGraph, p.replaceBuffer, p.mistakes, p.walk, p.collect,
	}
	pick(p, actions)()
}

func (p *player) randomOp() modelOp {
	return modelOp{kind: pick(p, []modelKind{doPlus, doTimes, doSum, doFill, doCopy}),
		d: pick(p, p.buffers), a: pick(p, p.buffers), b: pick(p, p.buffers), v: p.r.Uint32N(50)}
}

func (p *player) like(o modelOp) modelOp {
	if o.kind == doSetCond {
		o.v = p.r.Uint32N(2)
		return o
	}
	for {
		if other := p.randomOp(); other.kind.node() == o.kind.node() && (other.kind == o.kind || p.r.IntN(3) == 0) {
			return other
		}
	}
}

func (p *player) real(o *modelOp) driver.Op {
	p.Helper()
	var op driver.Op
	var err error
	switch o.kind {
	case doPlus:
		op, err = p.Plus.Prepare(config, o.d.b, uint32(elems), o.v)
	case doTimes:
		op, err = p.Times.Prepare(config, o.d.b, uint32(elems), o.v)
	case doSum:
		op, err = p.Sum.Prepare(config, o.d.b, o.a.b, o.b.b, uint32(elems))
	case doFill:
		op, err = driver.Fill[uint32](o.d.b, o.v)
	case doCopy:
		if o.a == o.d { // CUDA does not define a copy of memory to itself
			o.kind = doFill
			return p.real(o)
		}
		op, err = driver.CopyDevice[uint32](o.d.b, o.a.b)
	case doSetCond:
		op, err = o.cond.c.Set(o.v)
	}
	p.must(err)
	return op
}

// realLike returns a random operation to which a node with operation old can be set.
func (p *player) realLike(old modelOp) (modelOp, driver.Op) {
	for {
		o := p.like(old)
		op := p.real(&o)
		if o.kind.node() == old.kind.node() {
			return o, op
		}
	}
}

func (p *player) anyGraph() (g, whole *modelGraph) {
	if len(p.graphs) == 0 {
		p.newGraph()
	}
	whole = pick(p, p.graphs)
	g = whole
	for p.r.IntN(3) == 0 {
		var inner []*modelGraph
		for _, n := range g.nodes {
			if n.sub != nil {
				inner = append(inner, n.sub)
			}
		}
		if len(inner) == 0 {
			break
		}
		g = pick(p, inner)
	}
	return g, whole
}

func (p *player) newGraph() {
	if len(p.graphs) >= 4 {
		return
	}
	g, err := graph.New(p.C)
	p.must(err)
	p.graphs = append(p.graphs, &modelGraph{g: g, extra: map[[2]int]bool{}})
	p.did("%v is new", g)
}

// last returns the nodes that the next node depends on.
func (g *modelGraph) last() []graph.Node {
	if len(g.nodes) == 0 {
		return nil
	}
	return []graph.Node{g.nodes[len(g.nodes)-1].n}
}

func (p *player) entered(g *modelGraph, n graph.Node, o modelOp, sub *modelGraph) *modelNode {
	p.ids++
	m := &modelNode{n: n, id: p.ids, op: o, sub: sub}
	g.nodes = append(g.nodes, m)
	p.did("%v has node %d (%v)", g.g, m.id, n)
	return m
}

func (p *player) addNodes() {
	g, _ := p.anyGraph()
	for range 1 + p.r.IntN(3) {
		if p.r.IntN(8) == 0 {
			n, err := g.g.AddEmpty(g.last()...)
			p.must(err)
			p.entered(g, n, modelOp{kind: doNothing}, nil)
			continue
		}
		o := p.randomOp()
		op := p.real(&o)
		n, err := g.g.Add(op, g.last()...)
		p.must(err)
		p.entered(g, n, o, nil)
	}
}

func (p *player) addBatch() {
	g, _ := p.anyGraph()
	var models []modelOp
	var items []graph.Item
	for i := range 2 + p.r.IntN(4) {
		o := p.randomOp()
		item := graph.Item{Op: p.real(&o)}
		if i > 0 {
			item.After = []int{i - 1}
		} else {
			item.Deps = g.last()
		}
		models, items = append(models, o), append(items, item)
	}
	nodes, err := g.g.AddBatch(nil, items)
	p.must(err)
	for i, n := range nodes {
		p.entered(g, n, models[i], nil)
	}
}

// between returns two nodes of a graph that are not neighbours in its list.
func (p *player) between(g *modelGraph) (a, b *modelNode) {
	if len(g.nodes) < 3 {
		return nil, nil
	}
	i := p.r.IntN(len(g.nodes) - 2)
	j := i + 2 + p.r.IntN(len(g.nodes)-i-2)
	return g.nodes[i], g.nodes[j]
}

func (p *player) addEdge() {
	g, _ := p.anyGraph()
	a, b := p.between(g)
	if a == nil || g.extra[[2]int{a.id, b.id}] {
		return
	}
	p.must(graphtest.DependOn(b.n, a.n))
	g.extra[[2]int{a.id, b.id}] = true
	p.did("%v: edge %d to %d", g.g, a.id, b.id)
}

func (p *player) removeEdge() {
	g, _ := p.anyGraph()
	for i, a := range g.nodes {
		for _, b := range g.nodes[i+1:] {
			if g.extra[[2]int{a.id, b.id}] && p.r.IntN(2) == 0 {
				p.must(g.g.RemoveEdges(graphtest.EdgesOf([]graph.Node{a.n}, []graph.Node{b.n})...))
				delete(g.extra, [2]int{a.id, b.id})
				p.did("%v: no edge %d to %d", g.g, a.id, b.id)
				return
			}
		}
	}
}

// destroy removes a node and makes its successor run after its predecessor.
func (p *player) destroy() {
	g, _ := p.anyGraph()
	if len(g.nodes) == 0 {
		return
	}
	i := p.r.IntN(len(g.nodes))
	n := g.nodes[i]
	if n.op.kind == doControl || n.op.kind == doIf || n.op.kind == doWhile {
		return // an unused condition would prevent instantiation
	}
	p.did("%v: node %d is destroyed", g.g, n.id)
	p.must(n.n.Destroy())
	if i > 0 && i+1 < len(g.nodes) {
		a, b := g.nodes[i-1], g.nodes[i+1]
		if g.extra[[2]int{a.id, b.id}] {
			delete(g.extra, [2]int{a.id, b.id})
		} else {
			p.must(graphtest.DependOn(b.n, a.n))
		}
	}
	for e := range g.extra {
		if e[0] == n.id || e[1] == n.id {
			delete(g.extra, e)
		}
	}
	g.nodes = append(g.nodes[:i:i], g.nodes[i+1:]...)
	p.mustFail(n.n.Destroy(), driver.CUDA_ERROR_INVALID_HANDLE)
}

func (p *player) settable(g *modelGraph) *modelNode {
	var can []*modelNode
	for _, n := range g.all() {
		if n.op.kind <= doCopy || n.op.kind == doSetCond {
			can = append(can, n)
		}
	}
	if len(can) == 0 {
		return nil
	}
	return pick(p, can)
}

func (p *player) set() {
	_, whole := p.anyGraph()
	n := p.settable(whole)
	if n == nil {
		return
	}
	o, op := p.realLike(n.op)
	p.did("node %d is set", n.id)
	p.must(n.n.Set(op))
	n.op = o
}

// mirror returns the model of a copy of a graph. node returns the nodes of the copy.
func (p *player) mirror(g *graph.Graph, of *modelGraph, node func(i int, n *modelNode) graph.Node) *modelGraph {
	c := &modelGraph{g: g, extra: map[[2]int]bool{}}
	ids := map[int]int{}
	for i, n := range of.nodes {
		p.ids++
		ids[n.id] = p.ids
		m := &modelNode{n: node(i, n), id: p.ids, op: n.op}
		if n.sub != nil {
			inner, err := m.n.ChildGraph()
			p.must(err)
			m.sub = p.mirror(inner, n.sub, listed(p, inner))
		}
		c.nodes = append(c.nodes, m)
	}
	for e := range of.extra {
		c.extra[[2]int{ids[e[0]], ids[e[1]]}] = true
	}
	return c
}

// listed returns a function that maps an index, in the driver's order, to a node of a graph.
func listed(p *player, g *graph.Graph) func(int, *modelNode) graph.Node {
	var nodes []graph.Node
	for n, err := range g.Nodes() {
		p.must(err)
		nodes = append(nodes, n)
	}
	return func(i int, _ *modelNode) graph.Node { return nodes[i] }
}

func (p *player) addChild() {
	g, whole := p.anyGraph()
	child := pick(p, p.graphs)
	if child == whole {
		_, err := g.g.AddChild(child.g, g.last()...)
		p.mustFail(err, driver.CUDA_ERROR_INVALID_VALUE)
		return
	}
	n, err := g.g.AddChild(child.g, g.last()...)
	if child.conditional() {
		p.mustFail(err, driver.ErrNotSupported)
		return
	}
	if whole.size()+child.size() > 60 || whole.depth()+child.depth() > 4 {
		p.must(err)
		p.must(n.Destroy())
		return
	}
	p.must(err)
	inner, err := n.ChildGraph()
	p.must(err)
	p.entered(g, n, modelOp{kind: doChild}, p.mirror(inner, child, listed(p, inner)))
}

func (p *player) clone() {
	_, whole := p.anyGraph()
	g, err := whole.g.Clone()
	if whole.conditional() {
		p.mustFail(err, driver.ErrNotSupported)
		return
	}
	p.must(err)
	if len(p.graphs) >= 4 {
		p.must(g.Close())
		return
	}
	p.did("%v is a clone of %v", g, whole.g)
	p.graphs = append(p.graphs, p.mirror(g, whole, func(_ int, n *modelNode) graph.Node {
		m, err := n.n.FindInClone(g)
		p.must(err)
		return m
	}))
}

// inChild reports whether g is nested in a child graph node, where conditional nodes are not
// allowed.
func inChild(whole, g *modelGraph) bool {
	for _, n := range whole.nodes {
		if n.sub == nil {
			continue
		}
		if n.sub == g || n.sub.contains(g) {
			return n.op.kind == doChild || inChild(n.sub, g)
		}
	}
	return false
}

func (g *modelGraph) contains(inner *modelGraph) bool {
	for _, n := range g.nodes {
		if n.sub != nil && (n.sub == inner || n.sub.contains(inner)) {
			return true
		}
	}
	return false
}

func (p *player) addIf() {
	g, whole := p.anyGraph()
	if inChild(whole, g) || whole.depth() > 3 || whole.size() > 60 {
		return
	}
	c := &modelCond{first: p.r.Uint32N(2)}
	var err error
	c.c, err = whole.g.NewCond(graph.WithDefault(c.first))
	p.must(err)
	whole.conds = append(whole.conds, c)
	if p.r.IntN(2) == 0 {
		o := modelOp{kind: doSetCond, cond: c, v: p.r.Uint32N(2)}
		n, err := g.g.Add(p.real(&o), g.last()...)
		p.must(err)
		p.entered(g, n, o, nil)
	}
	n, body, err := g.g.AddIf(c.c, g.last()...)
	p.must(err)
	sub := &modelGraph{g: body, extra: map[[2]int]bool{}}
	p.entered(g, n, modelOp{kind: doIf, cond: c}, sub)
	for range p.r.IntN(3) {
		o := p.randomOp()
		op := p.real(&o)
		n, err := body.Add(op, sub.last()...)
		p.must(err)
		p.entered(sub, n, o, nil)
	}
}

func (p *player) addWhile() {
	g, whole := p.anyGraph()
	if inChild(whole, g) || whole.depth() > 2 || whole.size() > 60 {
		return
	}
	rounds := p.r.Uint32N(4)
	counter, err := driver.Alloc[uint32](p.C, 1)
	p.must(err)
	c, err := whole.g.NewCond()
	p.must(err)
	loop, err := c.Within(counter, rounds)
	p.must(err)
	start, err := loop.Start()
	p.must(err)
	next, err := loop.Next()
	p.must(err)
	n, err := g.g.Add(start, g.last()...)
	p.must(err)
	p.entered(g, n, modelOp{kind: doControl}, nil)
	whole.conds = append(whole.conds, &modelCond{c: c})
	n, body, err := g.g.AddWhile(c, g.last()...)
	p.must(err)
	sub := &modelGraph{g: body, extra: map[[2]int]bool{}}
	p.entered(g, n, modelOp{kind: doWhile, v: rounds}, sub)
	n, err = body.Add(next)
	p.must(err)
	p.must(counter.Close()) // the nodes retain the counter
	p.entered(sub, n, modelOp{kind: doControl}, nil)
}

package graph_test

import (
	"reflect"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func typeName(v any) string { return reflect.TypeOf(v).String() }

// The steady state of a program that replays graphs allocates nothing. The
// emulator allocates in its own right, so this is measured on a driver whose
// calls do nothing, and on the GPU.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyState(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	g := k.graph()
	toA, toB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
	n := k.add(g, toA)
	fill, err := driver.Fill[uint32](a, 4)
	k.ok(err)
	copyOp, err := driver.CopyDevice[uint32](a, b)
	k.ok(err)
	fillNode, copyNode := k.add(g, fill, n), k.add(g, copyOp, n)
	x := k.exec(g)
	odd := false
	none := k.none
	none("Launch", func() { k.ok(x.Launch(k.s)) })
	k.ok(x.Wait(background))
	none("Exec.Set of a kernel", func() { k.ok(x.Set(n, toA)) })
	none("Exec.Set to other memory", func() {
		odd = !odd
		if odd {
			k.ok(x.Set(n, toB))
		} else {
			k.ok(x.Set(n, toA))
		}
	})
	none("Exec.Set of a fill", func() { k.ok(x.Set(fillNode, fill)) })
	none("Exec.Set of a copy", func() { k.ok(x.Set(copyNode, copyOp)) })
	none("Node.Set", func() { k.ok(n.Set(toA)) })
	none("Set and Launch", func() {
		k.ok(x.Set(n, toB))
		k.ok(x.Launch(k.s))
	})
	changes := []graph.Change{{Node: n, Op: toB}, {Node: fillNode, Op: fill}, {Node: n, Op: toB}}
	none("SetBatch", func() { k.ok(x.SetBatch(changes)) })
	none("Enable", func() { k.ok(x.Enable(n, true)) })
	k.wait(k.s)
	none("Add, amortised", func() { k.add(g, toA, n) })
	none("Add with two dependencies, amortised", func() { k.add(g, toA, n, fillNode) })
	ops := []driver.Op{toA, toB, fill, copyOp}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain, amortised", func() {
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.ok(err)
	})
	p := k.chainPlan(ops...)
	none("AddPlan, amortised", func() { k.addPlan(g, p, n) })
	none("AddPlan after other arguments", func() {
		k.ok(driver.SetArg(toA, 2, uint32(7)))
		k.addPlan(g, p)
	})
	none("Nodes.At", func() { n = k.addPlan(g, p, n).At(3) })
	fresh := k.graph()
	for _, what := range []string{"AddPlan to one graph", "AddPlan to the other"} {
		none(what, func() {
			k.addPlan(fresh, p)
			k.addPlan(g, p)
		})
	}
}

// Launches of graphs that leave memory are followed without allocating on the
// host.
func TestLaunchOfAGraphWithMemoryAllocatesNothingOnTheHost(t *testing.T) {
	t.Run("null", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func launchWithMemory(k *kit) {
	k.Helper()
	g, b := k.leaving(1)
	auto := k.exec(g, graph.WithAutoFree())
	k.none("Launch", func() { k.ok(auto.Launch(k.s)) })
	k.wait(k.s)
	k.none("FreeGraphMemory and Launch", func() {
		k.ok(k.s.FreeGraphMemory(b))
		k.ok(auto.Launch(k.s))
	})
	k.wait(k.s)
}

// What captures and executable graphs are made of is few objects: what watches
// over them is handed from one to the next.
func TestCapturesAndExecsAreFewObjects(t *testing.T) {
	t.Run("null", func(t *testing.T) { fewObjects(newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))) })
	t.Run("gpu", func(t *testing.T) { fewObjects(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func fewObjects(k *kit) {
	k.Helper()
	hook := driver.SetLeakHook(nil) // which notes where each object is made
	defer driver.SetLeakHook(hook)
	l := k.launch(k.plus, k.memory(), 1)
	record := func(sc *graph.Scope) error { return sc.Do(l) }
	k.most(3, "a capture and its graph", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(*graph.Scope) error { return nil })
		k.ok(err)
		k.ok(g.Close())
	})
	k.most(4, "a capture of a launch and its graph", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, record)
		k.ok(err)
		k.ok(g.Close())
	})
	k.most(2, "a graph", func() {
		g, err := graph.New(k.c)
		k.ok(err)
		k.ok(g.Close())
	})
	g := k.graph()
	k.add(g, l)
	k.most(2, "an executable graph", func() {
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Close())
	})
}

// most shows that f allocates n objects at most.
func (k *kit) most(n float64, what string, f func()) {
	k.Helper()
	if allocs := testing.AllocsPerRun(200, f); allocs > n+allocsAllowed && !raceDetector {
		k.Errorf("%s: %v allocations, want %v at most", what, allocs, n)
	}
}

// Nodes in nodes are set like others, and a loop is launched like any graph,
// without allocating. The null driver has no bodies, but child graphs.
func TestSteadyStateOfNodesInNodesAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, nullDriver(t)))
		g := k.graph()
		n, err := g.AddChild(k.graph())
		k.ok(err)
		inner, err := n.ChildGraph()
		k.ok(err)
		steadyInside(k, g, inner)
	})
	t.Run("gpu", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, gputest.GPU(t)))
		g := k.graph()
		counter := k.words(0)
		c := k.cond(g)
		loop, err := c.Within(counter, 3)
		k.ok(err)
		start := k.add(g, k.op(loop.Start()))
		_, body := k.addWhile(g, c, start)
		k.add(body, k.op(loop.Next()))
		steadyInside(k, g, body)
	})
}

func steadyInside(k *kit, g, inner *graph.Graph) {
	k.Helper()
	a, b := k.memory(), k.memory()
	toA, toB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
	n := k.add(inner, toA)
	x := k.exec(g)
	none := k.none
	odd := false
	none("Set of a node in a node, and Launch", func() {
		if odd = !odd; odd {
			k.ok(x.Set(n, toB))
		} else {
			k.ok(x.Set(n, toA))
		}
		k.ok(x.Launch(k.s))
	})
	k.wait(k.s)
	none("SetArg and Set of a node in a node", func() {
		k.ok(driver.SetArg(toA, 2, uint32(7)))
		k.ok(x.Set(n, toA))
	})
}

// A node in a body is set while launches run: each launch has the parameters of
// its time.
func TestNodeInABodyIsSetWhileLaunchesRun(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		c := k.cond(g)
		loop, err := c.Within(k.words(0), 3)
		k.ok(err)
		_, body := k.addWhile(g, c, k.add(g, k.op(loop.Start())))
		a, b := k.memory(), k.memory()
		next := k.add(body, k.op(loop.Next()))
		n := k.add(body, k.launch(k.plus, a, 1), next)
		x := k.exec(g)
		const launches = 100
		for i := range launches {
			if i%2 == 0 {
				k.ok(x.Set(n, k.launch(k.plus, a, uint32(i))))
			} else {
				k.ok(x.Set(n, k.launch(k.plus, b, uint32(i))))
			}
			k.ok(x.Launch(k.s))
		}
		k.expect(a, 1+3*(launches/2)*(launches/2-1))
		k.expect(b, 1+3*(launches/2)*(launches/2))
	})
}

// Bound parameters, staging and bursts allocate nothing in the steady state.
func TestParametersOfEachStepAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func eachStep(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	g := k.graph()
	l := k.launch(k.plus, a, 1)
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{l, l, l}))
	k.ok(err)
	x := k.exec(g)
	bs := x.Bindings()
	var numbers [3]graph.Param[uint32]
	var targets [3]graph.Param[*driver.Buffer[uint32]]
	for i, n := range nodes {
		numbers[i] = bind[uint32](k, bs, n, l, "v")
		targets[i] = bind[*driver.Buffer[uint32]](k, bs, n, l, "p")
	}
	fill, err := driver.Fill[uint32](a, 4)
	k.ok(err)
	none := k.none
	i := uint32(0)
	none("bound numbers", func() {
		for _, p := range numbers {
			i++
			k.ok(p.Set(i))
		}
		k.ok(bs.Launch(k.s))
	})
	none("bound memory", func() {
		to := a
		if i++; i%2 == 0 {
			to = b
		}
		for _, p := range targets {
			k.ok(p.Set(to))
		}
		k.ok(bs.Launch(k.s))
	})
	k.ok(x.Wait(background))
	none("nothing changed", func() { k.ok(bs.Launch(k.s)) })
	none("Send", func() { k.ok(numbers[0].Set(i)); i++; k.ok(bs.Send()) })
	ops := []driver.Op{fill}
	none("Stage", func() { k.ok(x.Stage(k.s, ops...)); k.ok(x.Launch(k.s)) })
	other := k.stream()
	none("Stage on another stream", func() { k.ok(x.Stage(other, ops...)); k.ok(x.Launch(k.s)) })
	k.wait(k.s)
}

func TestRareNodesAreSetWithoutAllocating(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, nullDriver(t)))
		rareNodes(k)
		semaphoreNodes(k)
	})
	t.Run("gpu", func(t *testing.T) { rareNodes(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func rareNodes(k *kit) {
	k.Helper()
	b := k.memory()
	op, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 1, 0), driver.WriteWord[uint32](b, 1, 2, 0))
	k.ok(err)
	l := k.launch(k.plus, b, 1)
	g := k.graph()
	n := k.add(g, op)
	kernel := k.add(g, l, n)
	x := k.exec(g)
	k.none("Exec.Set of memory operations", func() { k.ok(x.Set(n, op)) })
	k.none("Node.Set of memory operations", func() { k.ok(n.Set(op)) })
	p := fillParams(b, 3)
	fill, err := g.AddNode(p, nil)
	k.ok(err)
	k.none("Node.SetParams", func() { k.ok(fill.SetParams(p)) })
	k.none("Add, then AddEdges with data, amortised", func() {
		n, err := g.Add(l)
		k.ok(err)
		k.ok(g.AddEdges(graph.Programmatic(kernel, n)))
	})
	k.run(x)
}

// semaphoreNodes is measured where semaphores can be had for the asking.
func semaphoreNodes(k *kit) {
	k.Helper()
	s, err := k.c.ImportSemaphoreFD(timelineFD, 3)
	k.ok(err)
	k.closeLater(s)
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: s})
	k.ok(err)
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: s})
	k.ok(err)
	g := k.graph()
	n := k.add(g, signal)
	w := k.add(g, wait, n)
	x := k.exec(g)
	v := uint64(0)
	k.none("a signal with another value", func() {
		v++
		k.ok(signal.SetValue(0, v))
		k.ok(x.Set(n, signal))
		k.ok(k.s.Do(signal))
	})
	k.none("a wait for another value", func() {
		v++
		k.ok(wait.SetValue(0, v))
		k.ok(x.Set(w, wait))
		k.ok(k.s.Do(wait))
	})
}

// To note what nodes use costs no allocation of its own, also where a launch
// gets other memory for each node.
func TestNotingMemoryAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func noteMemory(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	l := k.launch(k.plus, a, 1)
	g := k.graph()
	n := k.add(g, l)
	at := 0
	other := func() {
		at = (at + 1) % elems
		k.ok(driver.SetArg(l, 0, a.View(at, elems)))
	}
	none := k.none
	none("Add with other memory, amortised", func() {
		other()
		k.add(g, l)
	})
	none("Node.Set with other memory", func() {
		other()
		k.ok(n.Set(l))
	})
	ops := []driver.Op{l, l, k.launch(k.plus, b, 1)}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain with other memory, amortised", func() {
		other()
		var err error
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.ok(err)
	})
	r, err := graph.Begin(k.s, graph.ModeRelaxed)
	k.ok(err)
	defer func() { k.ok(r.Abort()) }()
	none("Scope.Do with other memory, amortised", func() {
		other()
		k.ok(r.Scope().Do(l))
	})
	k.ok(driver.SetArg(l, 0, driver.In(a)))
	none("declared arguments", func() {
		k.ok(driver.SetArg(l, 0, driver.In(b)))
		k.ok(driver.SetArg(l, 0, driver.Out(a)))
	})
}

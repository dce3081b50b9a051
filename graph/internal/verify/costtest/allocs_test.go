package costtest_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// In the steady state, a program that replays graphs must not allocate. The emulator itself
// allocates, so the test uses the GPU and a driver whose calls do nothing.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyState(k *kit) {
	k.Helper()
	a, b := k.Memory(), k.Memory()
	g := k.Graph()
	toA, toB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
	n := k.Add(g, toA)
	fill, err := driver.Fill[uint32](a, 4)
	k.OK(err)
	copyOp, err := driver.CopyDevice[uint32](a, b)
	k.OK(err)
	fillNode, copyNode := k.Add(g, fill, n), k.Add(g, copyOp, n)
	x := k.Exec(g)
	odd := false
	none := k.None
	none("Launch", func() { k.OK(x.Launch(k.S)) })
	k.OK(x.Wait(background))
	none("Exec.Set of a kernel", func() { k.OK(x.Set(n, toA)) })
	none("Exec.Set to other memory", func() {
		odd = !odd
		if odd {
			k.OK(x.Set(n, toB))
		} else {
			k.OK(x.Set(n, toA))
		}
	})
	none("Exec.Set of a fill", func() { k.OK(x.Set(fillNode, fill)) })
	none("Exec.Set of a copy", func() { k.OK(x.Set(copyNode, copyOp)) })
	none("Node.Set", func() { k.OK(n.Set(toA)) })
	none("Set and Launch", func() {
		k.OK(x.Set(n, toB))
		k.OK(x.Launch(k.S))
	})
	changes := []graph.Change{{Node: n, Op: toB}, {Node: fillNode, Op: fill}, {Node: n, Op: toB}}
	none("SetBatch", func() { k.OK(x.SetBatch(changes)) })
	none("Enable", func() { k.OK(x.Enable(n, true)) })
	k.Wait(k.S)
	none("Add, amortised", func() { k.Add(g, toA, n) })
	none("Add with two dependencies, amortised", func() { k.Add(g, toA, n, fillNode) })
	ops := []driver.Op{toA, toB, fill, copyOp}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain, amortised", func() {
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.OK(err)
	})
	p := k.ChainPlan(ops...)
	none("AddPlan, amortised", func() { k.AddPlan(g, p, n) })
	none("AddPlan after other arguments", func() {
		k.OK(driver.SetArg(toA, 2, uint32(7)))
		k.AddPlan(g, p)
	})
	none("Nodes.At", func() { n = k.AddPlan(g, p, n).At(3) })
	fresh := k.Graph()
	for _, what := range []string{"AddPlan to one graph", "AddPlan to the other"} {
		none(what, func() {
			k.AddPlan(fresh, p)
			k.AddPlan(g, p)
		})
	}
}

func TestLaunchOfAGraphWithMemoryAllocatesNothingOnTheHost(t *testing.T) {
	t.Run("null", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { launchWithMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func launchWithMemory(k *kit) {
	k.Helper()
	g, b := k.Leaving(1)
	auto := k.Exec(g, graph.WithAutoFree())
	k.None("Launch", func() { k.OK(auto.Launch(k.S)) })
	k.Wait(k.S)
	k.None("FreeGraphMemory and Launch", func() {
		k.OK(k.S.FreeGraphMemory(b))
		k.OK(auto.Launch(k.S))
	})
	k.Wait(k.S)
}

// Captures and executable graphs must allocate few objects, because the objects that track their
// lifetimes are reused.
func TestCapturesAndExecsAreFewObjects(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		fewObjects(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))))
	})
	t.Run("gpu", func(t *testing.T) { fewObjects(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func fewObjects(k *kit) {
	k.Helper()
	hook := driver.SetLeakHook(nil) // with a leak hook, the library records where each object was created, which allocates
	defer driver.SetLeakHook(hook)
	l := k.Launch(k.Plus, k.Memory(), 1)
	record := func(sc *graph.Scope) error { return sc.Do(l) }
	k.Most(3, "a capture and its graph", func() {
		g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(*graph.Scope) error { return nil })
		k.OK(err)
		k.OK(g.Close())
	})
	k.Most(4, "a capture of a launch and its graph", func() {
		g, err := graph.Capture(k.S, graph.ModeThreadLocal, record)
		k.OK(err)
		k.OK(g.Close())
	})
	k.Most(2, "a graph", func() {
		g, err := graph.New(k.C)
		k.OK(err)
		k.OK(g.Close())
	})
	g := k.Graph()
	k.Add(g, l)
	k.Most(2, "an executable graph", func() {
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(x.Close())
	})
}

// Setting nested nodes and launching a loop must not allocate. The null driver supports child
// graphs, but not bodies.
func TestSteadyStateOfNodesInNodesAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, graphtest.NullDriver(t)))
		g := k.Graph()
		n, err := g.AddChild(k.Graph())
		k.OK(err)
		inner, err := n.ChildGraph()
		k.OK(err)
		steadyInside(k, g, inner)
	})
	t.Run("gpu", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, gputest.GPU(t)))
		g := k.Graph()
		counter := k.Words(0)
		c := k.Cond(g)
		loop, err := c.Within(counter, 3)
		k.OK(err)
		start := k.Add(g, k.Op(loop.Start()))
		_, body := k.AddWhile(g, c, start)
		k.Add(body, k.Op(loop.Next()))
		steadyInside(k, g, body)
	})
}

func steadyInside(k *kit, g, inner *graph.Graph) {
	k.Helper()
	a, b := k.Memory(), k.Memory()
	toA, toB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
	n := k.Add(inner, toA)
	x := k.Exec(g)
	none := k.None
	odd := false
	none("Set of a node in a node, and Launch", func() {
		if odd = !odd; odd {
			k.OK(x.Set(n, toB))
		} else {
			k.OK(x.Set(n, toA))
		}
		k.OK(x.Launch(k.S))
	})
	k.Wait(k.S)
	none("SetArg and Set of a node in a node", func() {
		k.OK(driver.SetArg(toA, 2, uint32(7)))
		k.OK(x.Set(n, toA))
	})
}

// If a node in a body is set while launches run, each launch must use the parameters that were set
// before it.
func TestNodeInABodyIsSetWhileLaunchesRun(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		c := k.Cond(g)
		loop, err := c.Within(k.Words(0), 3)
		k.OK(err)
		_, body := k.AddWhile(g, c, k.Add(g, k.Op(loop.Start())))
		a, b := k.Memory(), k.Memory()
		next := k.Add(body, k.Op(loop.Next()))
		n := k.Add(body, k.Launch(k.Plus, a, 1), next)
		x := k.Exec(g)
		const launches = 100
		for i := range launches {
			if i%2 == 0 {
				k.OK(x.Set(n, k.Launch(k.Plus, a, uint32(i))))
			} else {
				k.OK(x.Set(n, k.Launch(k.Plus, b, uint32(i))))
			}
			k.OK(x.Launch(k.S))
		}
		k.Expect(a, 1+3*(launches/2)*(launches/2-1))
		k.Expect(b, 1+3*(launches/2)*(launches/2))
	})
}

func TestParametersOfEachStepAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func eachStep(k *kit) {
	k.Helper()
	a, b := k.Memory(), k.Memory()
	g := k.Graph()
	l := k.Launch(k.Plus, a, 1)
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{l, l, l}))
	k.OK(err)
	x := k.Exec(g)
	bs := x.Bindings()
	var numbers [3]graph.Param[uint32]
	var targets [3]graph.Param[*driver.Buffer[uint32]]
	for i, n := range nodes {
		numbers[i] = graphtest.Bind[uint32](k.Kit, bs, n, l, "v")
		targets[i] = graphtest.Bind[*driver.Buffer[uint32]](k.Kit, bs, n, l, "p")
	}
	fill, err := driver.Fill[uint32](a, 4)
	k.OK(err)
	none := k.None
	i := uint32(0)
	none("bound numbers", func() {
		for _, p := range numbers {
			i++
			k.OK(p.Set(i))
		}
		k.OK(bs.Launch(k.S))
	})
	none("bound memory", func() {
		to := a
		if i++; i%2 == 0 {
			to = b
		}
		for _, p := range targets {
			k.OK(p.Set(to))
		}
		k.OK(bs.Launch(k.S))
	})
	k.OK(x.Wait(background))
	none("nothing changed", func() { k.OK(bs.Launch(k.S)) })
	none("Send", func() { k.OK(numbers[0].Set(i)); i++; k.OK(bs.Send()) })
	ops := []driver.Op{fill}
	none("Stage", func() { k.OK(x.Stage(k.S, ops...)); k.OK(x.Launch(k.S)) })
	other := k.Stream()
	none("Stage on another stream", func() { k.OK(x.Stage(other, ops...)); k.OK(x.Launch(k.S)) })
	k.Wait(k.S)
}

func TestRareNodesAreSetWithoutAllocating(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, graphtest.NullDriver(t)))
		rareNodes(k)
		semaphoreNodes(k)
	})
	t.Run("gpu", func(t *testing.T) { rareNodes(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func rareNodes(k *kit) {
	k.Helper()
	b := k.Memory()
	op, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 1, 0), driver.WriteWord[uint32](b, 1, 2, 0))
	k.OK(err)
	l := k.Launch(k.Plus, b, 1)
	g := k.Graph()
	n := k.Add(g, op)
	kernel := k.Add(g, l, n)
	x := k.Exec(g)
	k.None("Exec.Set of memory operations", func() { k.OK(x.Set(n, op)) })
	k.None("Node.Set of memory operations", func() { k.OK(n.Set(op)) })
	p := graphtest.FillParams(b, 3)
	fill, err := g.AddNode(p, nil)
	k.OK(err)
	k.None("Node.SetParams", func() { k.OK(fill.SetParams(p)) })
	k.None("Add, then AddEdges with data, amortised", func() {
		n, err := g.Add(l)
		k.OK(err)
		k.OK(g.AddEdges(graph.Programmatic(kernel, n)))
	})
	k.Run(x)
}

// semaphoreNodes requires the null driver, which imports any descriptor.
func semaphoreNodes(k *kit) {
	k.Helper()
	s, err := k.C.ImportSemaphoreFD(graphtest.TimelineFD, 3)
	k.OK(err)
	k.CloseLater(s)
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: s})
	k.OK(err)
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: s})
	k.OK(err)
	g := k.Graph()
	n := k.Add(g, signal)
	w := k.Add(g, wait, n)
	x := k.Exec(g)
	v := uint64(0)
	k.None("a signal with another value", func() {
		v++
		k.OK(signal.SetValue(0, v))
		k.OK(x.Set(n, signal))
		k.OK(k.S.Do(signal))
	})
	k.None("a wait for another value", func() {
		v++
		k.OK(wait.SetValue(0, v))
		k.OK(x.Set(w, wait))
		k.OK(k.S.Do(wait))
	})
}

// Recording the accesses of nodes must not add allocations, even if the launch's memory changes for
// each node.
func TestNotingMemoryAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func noteMemory(k *kit) {
	k.Helper()
	a, b := k.Memory(), k.Memory()
	l := k.Launch(k.Plus, a, 1)
	g := k.Graph()
	n := k.Add(g, l)
	at := 0
	other := func() {
		at = (at + 1) % elems
		k.OK(driver.SetArg(l, 0, a.View(at, elems)))
	}
	none := k.None
	none("Add with other memory, amortised", func() {
		other()
		k.Add(g, l)
	})
	none("Node.Set with other memory", func() {
		other()
		k.OK(n.Set(l))
	})
	ops := []driver.Op{l, l, k.Launch(k.Plus, b, 1)}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain with other memory, amortised", func() {
		other()
		var err error
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.OK(err)
	})
	r, err := graph.Begin(k.S, graph.ModeRelaxed)
	k.OK(err)
	defer func() { k.OK(r.Abort()) }()
	none("Scope.Do with other memory, amortised", func() {
		other()
		k.OK(r.Scope().Do(l))
	})
	k.OK(driver.SetArg(l, 0, driver.In(a)))
	none("declared arguments", func() {
		k.OK(driver.SetArg(l, 0, driver.In(b)))
		k.OK(driver.SetArg(l, 0, driver.Out(a)))
	})
}

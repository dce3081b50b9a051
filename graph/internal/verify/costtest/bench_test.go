package costtest_test

import (
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// The benchmarks run on the GPU if there is one, otherwise on the emulator. On the emulator, the
// figures show only the library's own cost, not the cost on a GPU. The programs in bench/ compare
// the same calls with C.

// chainLength is the number of nodes in the large graphs, whose figures are per node.
const chainLength = 1000

type graphBench struct {
	*kit
	b      *testing.B
	launch *driver.Launch
	chain  []driver.Op
}

func newGraphBench(b *testing.B) graphBench {
	b.Helper()
	d := func() *driver.Driver {
		if driver.Available() == nil {
			return gputest.GPU(b)
		}
		return gputest.Emulator(b, emulator.Config{})
	}()
	k := newKit(b, gputest.Context(b, d))
	gb := graphBench{kit: k, b: b, launch: k.Launch(k.Plus, k.Memory(), 1)}
	for range chainLength {
		gb.chain = append(gb.chain, gb.launch)
	}
	b.ReportAllocs()
	return gb
}

// ok and add replace the kit's methods, because a call of Helper would take longer than the
// measured code.
func (b graphBench) ok(err error) {
	if err != nil {
		b.b.Fatal(err)
	}
}

func (b graphBench) add(g *graph.Graph, op driver.Op, deps ...graph.Node) graph.Node {
	n, err := g.Add(op, deps...)
	b.ok(err)
	return n
}

func (b graphBench) execOf(n int) (*graph.Exec, *graph.Graph, []graph.Node) {
	b.Helper()
	g := b.Graph()
	nodes, err := g.AddBatch(nil, graph.Chain(b.chain[:n]))
	b.ok(err)
	return b.Exec(g), g, nodes
}

// perNode measures work on chainLength nodes at a time. ns/op includes prepare and finish, but
// ns/node does not.
func (b graphBench) perNode(prepare func(), work func(), finish func()) {
	b.Helper()
	b.b.ResetTimer()
	var took time.Duration
	n := 0
	for done := 0; done < b.b.N; done += chainLength {
		prepare()
		begin := time.Now()
		work()
		took += time.Since(begin)
		n += chainLength
		finish()
	}
	b.b.ReportMetric(float64(took)/float64(n), "ns/node")
}

func nothing() {}

func (b graphBench) inFreshGraph(add func(g *graph.Graph)) {
	b.Helper()
	var g *graph.Graph
	prepare := func() {
		var err error
		g, err = graph.New(b.C)
		b.ok(err)
	}
	b.perNode(prepare, func() { add(g) }, func() { b.ok(g.Close()) })
}

func BenchmarkAdd(b *testing.B) {
	gb := newGraphBench(b)
	gb.inFreshGraph(func(g *graph.Graph) {
		var last [1]graph.Node
		deps := last[:0]
		for range chainLength {
			last[0] = gb.add(g, gb.launch, deps...)
			deps = last[:1]
		}
	})
}

func BenchmarkAddChain(b *testing.B) {
	gb := newGraphBench(b)
	nodes, chain := make([]graph.Node, 0, chainLength), graph.Chain(gb.chain)
	gb.inFreshGraph(func(g *graph.Graph) {
		_, err := g.AddBatch(nodes, chain)
		gb.ok(err)
	})
}

func BenchmarkCapture(b *testing.B) {
	gb := newGraphBench(b)
	var g *graph.Graph
	gb.perNode(nothing, func() {
		var err error
		g, err = graph.Capture(gb.S, graph.ModeThreadLocal, func(s *graph.Scope) error {
			for range chainLength {
				if err := s.Do(gb.launch); err != nil {
					return err
				}
			}
			return nil
		})
		gb.ok(err)
	}, func() { gb.ok(g.Close()) })
}

func BenchmarkInstantiate(b *testing.B) {
	gb := newGraphBench(b)
	_, g, _ := gb.execOf(chainLength)
	var x *graph.Exec
	gb.perNode(nothing, func() {
		var err error
		x, err = g.Instantiate()
		gb.ok(err)
	}, func() { gb.ok(x.Close()) })
}

func BenchmarkUpdate(b *testing.B) {
	gb := newGraphBench(b)
	x, g, _ := gb.execOf(chainLength)
	gb.perNode(nothing, func() {
		_, err := x.Update(g)
		gb.ok(err)
	}, nothing)
}

func BenchmarkExecSet(b *testing.B) {
	gb := newGraphBench(b)
	x, _, nodes := gb.execOf(chainLength)
	gb.Run(x) // also sets parameters between launches
	i := 0
	for b.Loop() {
		if err := x.Set(nodes[i%chainLength], gb.launch); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkExecLaunch(b *testing.B) {
	for name, n := range map[string]int{"1": 1, "1000": chainLength} {
		b.Run(name, func(b *testing.B) {
			gb := newGraphBench(b)
			x, _, _ := gb.execOf(n)
			gb.launches(x)
		})
	}
}

// launches reports the host time of a launch. ns/op also includes the wait after every twenty
// launches.
func (b graphBench) launches(x *graph.Exec) {
	b.Helper()
	b.Run(x)
	var host time.Duration
	b.b.ResetTimer()
	for done := 0; done < b.b.N; done += 20 {
		begin := time.Now()
		for range min(20, b.b.N-done) {
			b.ok(x.Launch(b.S))
		}
		host += time.Since(begin)
		b.Wait(b.S)
	}
	b.b.ReportMetric(float64(host)/float64(b.b.N), "host-ns/op")
}

// stepBench is a graph of chainLength kernels whose numeric arguments change.
type stepBench struct {
	graphBench
	all   []*driver.Launch
	ops   []driver.Op
	x     *graph.Exec
	nodes []graph.Node
	n     uint32
}

func newStepBench(b *testing.B) *stepBench {
	b.Helper()
	s := &stepBench{graphBench: newGraphBench(b)}
	mem := s.Memory()
	for range chainLength {
		l := s.graphBench.kit.Launch(s.Plus, mem, 1)
		s.all, s.ops = append(s.all, l), append(s.ops, l)
	}
	g := s.Graph()
	var err error
	s.nodes, err = g.AddBatch(nil, graph.Chain(s.ops))
	s.ok(err)
	s.x = s.Exec(g)
	s.Run(s.x)
	b.ResetTimer()
	return s
}

func (s *stepBench) next(l *driver.Launch) {
	s.n++
	s.ok(driver.SetArg(l, 2, s.n))
}

// BenchmarkRecapture captures the step again, updates the exec and closes the graph. ns/op is the
// time for the whole graph.
func BenchmarkRecapture(b *testing.B) {
	ways := map[string]func(s *stepBench, sc *graph.Scope) error{
		"Do": func(s *stepBench, sc *graph.Scope) error {
			for _, l := range s.all {
				s.next(l)
				s.ok(sc.Do(l))
			}
			return nil
		},
		"Burst": func(s *stepBench, sc *graph.Scope) error {
			return sc.Burst(func(b *graph.Burst) error {
				for range s.all {
					s.next(s.launch)
					s.ok(b.Do(s.launch))
				}
				return nil
			})
		},
		"DoAll": func(s *stepBench, sc *graph.Scope) error {
			for _, l := range s.all {
				s.next(l)
			}
			return sc.Do(s.ops...)
		},
	}
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			s := newStepBench(b)
			for b.Loop() {
				g, err := graph.Capture(s.S, graph.ModeThreadLocal, func(sc *graph.Scope) error { return way(s, sc) })
				s.ok(err)
				_, err = s.x.Update(g)
				s.ok(err)
				s.ok(g.Close())
			}
		})
	}
}

// BenchmarkSetTenAndLaunch changes a numeric argument of every hundredth node, and launches.
func BenchmarkSetTenAndLaunch(b *testing.B) {
	s := newStepBench(b)
	bs := s.x.Bindings()
	var params []graph.Param[uint32]
	for i := 0; i < chainLength; i += chainLength / 10 {
		p, err := graph.Bind[uint32](bs, s.nodes[i], s.all[i], 2)
		s.ok(err)
		params = append(params, p)
	}
	i := 0
	for b.Loop() {
		for _, p := range params {
			s.n++
			s.ok(p.Set(s.n))
		}
		s.ok(bs.Launch(s.S))
		if i++; i%20 == 0 { // the driver's queue holds twenty launches
			b.StopTimer()
			s.Wait(s.S)
			b.StartTimer()
		}
	}
}

// BenchmarkScopeDo measures the library's own cost of recording an operation, with a driver whose
// calls do nothing.
func BenchmarkScopeDo(b *testing.B) {
	k := newKit(b, gputest.Context(b, graphtest.NullDriver(b)))
	l := k.Launch(k.Plus, k.Memory(), 1)
	r, err := graph.Begin(k.S, graph.ModeThreadLocal)
	k.OK(err)
	sc := r.Scope()
	b.ReportAllocs()
	for b.Loop() {
		if err := sc.Do(l); err != nil {
			b.Fatal(err)
		}
	}
	k.OK(r.Abort())
}

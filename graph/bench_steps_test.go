package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// stepBench is a graph of chainLength kernels whose numbers change.
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
	mem := s.memory()
	for range chainLength {
		l := s.graphBench.kit.launch(s.plus, mem, 1)
		s.all, s.ops = append(s.all, l), append(s.ops, l)
	}
	g := s.graph()
	var err error
	s.nodes, err = g.AddBatch(nil, graph.Chain(s.ops))
	s.ok(err)
	s.x = s.exec(g)
	s.run(s.x)
	b.ResetTimer()
	return s
}

func (s *stepBench) next(l *driver.Launch) {
	s.n++
	s.ok(driver.SetArg(l, 2, s.n))
}

// BenchmarkRecapture captures the step anew, updates the exec and closes the
// graph: ns/op is that of a whole graph.
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
				g, err := graph.Capture(s.s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return way(s, sc) })
				s.ok(err)
				_, err = s.x.Update(g)
				s.ok(err)
				s.ok(g.Close())
			}
		})
	}
}

// BenchmarkSetTenAndLaunch changes every hundredth node's number, and launches.
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
		s.ok(bs.Launch(s.s))
		if i++; i%20 == 0 { // what the driver's queue takes
			b.StopTimer()
			s.wait(s.s)
			b.StartTimer()
		}
	}
}

package modeltest_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

func (p *player) capture() {
	if len(p.graphs) >= 4 {
		return
	}
	other, err := p.C.NewStream()
	p.must(err)
	defer other.Close()
	var models []modelOp
	record := func(sc *graph.Scope) error {
		for range 1 + p.r.IntN(4) {
			o := p.randomOp()
			op := p.real(&o)
			if err := sc.Do(op); err != nil {
				return err
			}
			models = append(models, o)
		}
		return nil
	}
	g, err := graph.Capture(other, pick(p, []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed}), record)
	p.must(err)
	m := &modelGraph{g: g, extra: map[[2]int]bool{}}
	p.graphs = append(p.graphs, m)
	node := listed(p, g)
	for i, o := range models {
		p.entered(m, node(i, nil), o, nil)
	}
}

func (p *player) captureInto() {
	g, whole := p.anyGraph()
	if g != whole {
		return
	}
	o := p.randomOp()
	op := p.real(&o)
	nodes, err := graphtest.CaptureInto(g.g, p.S, graph.ModeThreadLocal, g.last(), func(sc *graph.Scope) error { return sc.Do(op) })
	p.must(err)
	if len(nodes) != 1 {
		p.fatal("step %d: capture of one operation ended at %v", p.step, nodes)
	}
	p.entered(g, nodes[0], o, nil)
}

var errOfTheFunction = errors.New("the function failed")

func (p *player) failedCapture() {
	g, _ := p.anyGraph()
	o := p.randomOp()
	op := p.real(&o)
	fail := func(sc *graph.Scope) error { return errors.Join(sc.Do(op), errOfTheFunction) }
	_, err := graph.Capture(p.S, graph.ModeGlobal, fail)
	p.mustFail(err, errOfTheFunction)
	_, err = graphtest.CaptureInto(g.g, p.S, graph.ModeGlobal, g.last(), fail)
	p.mustFail(err, errOfTheFunction)
	_, err = graph.Capture(p.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return graphtest.Second(graph.Begin(p.S, graph.ModeRelaxed))
	})
	p.mustFail(err, driver.CUDA_ERROR_ILLEGAL_STATE)
}
